//! TLS to upstreams: roots, names, and the version of HTTP that is negotiated.

use stagger_testkit::server::{Identity, Reaction, Script, TestServer};

use crate::client::{RunningProxy, text};

fn authority(identity: &Identity, name: &str) -> std::path::PathBuf {
    let file = std::env::temp_dir().join(format!("stagger-proxy-{name}-{}", std::process::id()));
    std::fs::write(&file, identity.authority_pem()).expect("a folder for it");
    file
}

#[tokio::test]
async fn the_application_speaks_plain_http_and_the_proxy_tls() {
    for (identity, version) in [
        (Identity::valid(), http::Version::HTTP_2),
        (Identity::valid().http1_only(), http::Version::HTTP_11),
    ] {
        let file = authority(&identity, "valid");
        let script = Script::of([Reaction::status(503), Reaction::ok("fine")]);
        let server = TestServer::start_tls(script, &identity).await;
        let proxy = RunningProxy::start(&format!(
            "[route.api]\nupstream = '{}'\ntls.ca_file = '{}'\ntls.public_roots = false\n\
             policy = {{ backoff = {{ base = '1ms', cap = '1ms' }} }}",
            server.url(""),
            file.display()
        ))
        .await;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(proxy.ask("GET", "/").await.status(), 200);
        assert!(server.seen().iter().all(|it| it.version == version), "{version:?}");
        assert_eq!(server.connections(), 1, "kept for the second attempt");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_final() {
    let server =
        TestServer::start_tls(Script::always(Reaction::ok("fine")), &Identity::valid()).await;
    let proxy = RunningProxy::start(&format!("[route.api]\nupstream = '{}'", server.url(""))).await;
    let reply = proxy.ask("GET", "/").await;
    assert_eq!(
        (reply.status().as_u16(), text(reply.headers(), "stagger-stop")),
        (502, "permanent")
    );
    assert_eq!(server.taken(), 0);
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!((figures.attempts, figures.errors), (1, 1), "no repetition heals it");
}
