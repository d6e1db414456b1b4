//! A proxy's file of routes: read whole or refused with its place, whatever it holds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_proxy::config::{ProxySettings, RouteTarget};

fuzz_target!(|text: &str| {
    match ProxySettings::parse("routes.toml", text) {
        Ok(settings) => {
            assert!((1..=1000).contains(&settings.routes.len()));
            for route in &settings.routes {
                assert!(route.path.starts_with('/'), "{}", route.path);
                assert!((1..=100_000).contains(&route.max_in_flight));
                if let RouteTarget::Upstreams(upstreams) = &route.target {
                    assert!(!upstreams.is_empty());
                }
            }
        }
        Err(fault) => assert!(fault.to_string().starts_with("routes.toml:"), "{fault}"),
    }
});
