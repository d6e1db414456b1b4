//! Addresses of a store: behind TLS, and on another node of a cluster than the one that was named.

mod support;

use std::net::TcpListener;

use stagger::budget::TokenPlan;
use stagger::engine::Ledger;
use stagger::engine::budget::Charge;
use stagger::{Clock, Policy, Span, StdTime};
use stagger_redis::{SharedOptions, SharedStore, StoreError, StoreFallback};
use support::Redis;

fn options() -> SharedOptions {
    let options =
        SharedOptions::new(1).and_then(|options| options.with_fallback(StoreFallback::Refuse));
    options.expect("in bounds")
}

/// A port that is free, and has room for a cluster's second one 10 000 above.
fn port() -> String {
    for _ in 0..1_000 {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a port").port();
        if port < 55_000 {
            return port.to_string();
        }
    }
    panic!("no port below 55000");
}

/// All ten permits of a bucket, and not one more.
async fn ten_are_granted(store: &SharedStore) {
    let policy = Policy::builder().budget(TokenPlan::new(10, 1).expect("in bounds"));
    let ledger = store.ledger("ten", &policy.build().expect("in bounds")).expect("a name");
    let patience = StdTime.now() + Span::from_secs(30);
    let mut granted = 0;
    while ledger.stats(StdTime.now()).lease_denied < 12 {
        assert!(StdTime.now() < patience, "{granted} of 10: {:?}", ledger.stats(StdTime.now()));
        granted += u32::from((&*ledger).ask(StdTime.now(), Charge::Retry).is_some());
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(granted, 10);
}

#[tokio::test]
async fn a_node_of_a_cluster_that_has_other_keys_says_where_ours_are() {
    let ports = [port(), port()];
    let start = |port: &String| {
        let cluster = ["--cluster-enabled", "yes", "--bind", "127.0.0.1", "--port", port];
        Redis::start(&cluster)
    };
    let (Some(other), Some(ours)) = (start(&ports[0]), start(&ports[1])) else { return };
    let connect = |redis: &Redis| redis::Client::open(redis.url()).and_then(|c| c.get_connection());
    let (mut other, mut our) = (connect(&other).expect("up"), connect(&ours).expect("up"));
    let mut all = redis::cmd("CLUSTER");
    all.arg("ADDSLOTSRANGE").arg(0).arg(16_383).exec(&mut our).expect("it takes all slots");
    let mut meet = redis::cmd("CLUSTER");
    meet.arg("MEET").arg("127.0.0.1").arg(&ports[1]).exec(&mut other).expect("they meet");
    let patience = StdTime.now() + Span::from_secs(30);
    loop {
        let info: String = redis::cmd("CLUSTER").arg("INFO").query(&mut other).expect("it says");
        if info.contains("cluster_state:ok") {
            break;
        }
        assert!(StdTime.now() < patience, "{info}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let url = format!("redis://127.0.0.1:{}", ports[0]);
    ten_are_granted(&SharedStore::connect(&url, options()).await.expect("a node")).await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut our).expect("keys");
    assert_eq!(keys.len(), 2, "{keys:?}");
}

/// A store behind TLS whose certificate is for this name; its URL, and the certificate's file.
#[cfg(feature = "rustls")]
fn behind_tls(name: &str) -> Option<(Redis, String, std::path::PathBuf)> {
    let redis = Redis::prepare(&[])?;
    let own = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let cert = redis.write("cert.pem", &own.cert.pem());
    let key = redis.write("key.pem", &own.signing_key.serialize_pem());
    let (port, path) = (port(), |path: &std::path::Path| path.display().to_string());
    let tls = ["--bind", "127.0.0.1", "--tls-port", &port, "--tls-auth-clients", "no"];
    let files = ["--tls-cert-file", &path(&cert), "--tls-key-file", &path(&key)];
    let redis = redis.with(&tls).with(&files);
    redis.again();
    Some((redis, format!("rediss://localhost:{port}"), cert))
}

/// Trust is read from the environment, so that each test of it is a process of its own.
#[cfg(feature = "rustls")]
fn as_a_process(test: &str, url: &str, trusted: &std::path::Path) {
    let mut child = std::process::Command::new(std::env::current_exe().expect("this one"));
    child.args(["--ignored", "--exact", test, "--nocapture"]);
    let child = child.env("SSL_CERT_FILE", trusted).env("STAGGER_TEST_REDIS_TLS", url);
    let child = child.output().expect("it starts");
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[cfg(feature = "rustls")]
#[test]
fn a_store_behind_tls_is_trusted_by_its_certificate() {
    if let Some((_redis, url, cert)) = behind_tls("localhost") {
        as_a_process("child_finds_its_store_behind_tls", &url, &cert);
    }
}

#[cfg(feature = "rustls")]
#[test]
fn a_store_that_shows_another_name_is_an_error_at_once() {
    if let Some((_redis, url, cert)) = behind_tls("elsewhere.test") {
        as_a_process("child_is_shown_another_name", &url, &cert);
    }
}

#[cfg(feature = "rustls")]
#[tokio::test]
#[ignore = "a part of the test above"]
async fn child_finds_its_store_behind_tls() {
    let url = std::env::var("STAGGER_TEST_REDIS_TLS").expect("the parent says it");
    let none: StoreError =
        SharedStore::connect(&url, options()).await.expect_err("no provider yet");
    assert!(none.to_string().contains("install_default"), "{none}");
    let _ = rustls::crypto::ring::default_provider().install_default();
    ten_are_granted(&SharedStore::connect(&url, options()).await.expect("trusted")).await;
}

#[cfg(feature = "rustls")]
#[tokio::test]
#[ignore = "a part of the test above"]
async fn child_is_shown_another_name() {
    let url = std::env::var("STAGGER_TEST_REDIS_TLS").expect("the parent says it");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let error = SharedStore::connect(&url, options()).await.expect_err("not for this name");
    assert!(error.to_string().contains("certificate"), "{error}");
}
