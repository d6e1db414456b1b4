//! The path of a request on its way to an upstream: it stays below the upstream's own, and on its server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_proxy::config::{ConnectTarget, HostPattern, UpstreamUrl};

fuzz_target!(|input: (&str, &str, u16)| {
    let (path, host, port) = input;
    let upstream: UpstreamUrl = "https://api.example/v2".parse().expect("a URL");
    if path.starts_with('/')
        && let Ok(path) = path.parse()
        && let Some(uri) = upstream.uri(&path)
    {
        assert_eq!(uri.authority().map(|it| it.as_str()), Some("api.example"), "{path}");
        assert!(uri.path().starts_with("/v2/"), "{path}: {uri}");
    }
    let below: HostPattern = "*.api.example".parse().expect("a pattern");
    if below.matches(host) {
        let host = host.to_ascii_lowercase();
        assert!(host.trim_end_matches('.').ends_with(".api.example"), "{host:?}");
    }
    let target: ConnectTarget = "db.example:5432".parse().expect("a target");
    if target.allows(host, port) {
        assert_eq!((host.trim_end_matches('.').to_ascii_lowercase().as_str(), port), ("db.example", 5432));
    }
    // Any text is an upstream or refused.
    if let Ok(upstream) = host.parse::<UpstreamUrl>() {
        assert!(!upstream.authority().as_str().contains('@'));
    }
});
