//! Calls of gRPC by a service config: its retries, and its budget in the ledger of the destination.

use std::path::PathBuf;

use stagger_proxy::config::ProxySettings;
use stagger_testkit::server::{Script, TestServer};

use crate::client::{RunningProxy, text};
use crate::grpc_call::{answer, status, unary};

/// Three attempts after ABORTED, and a budget of eight tokens.
const CONFIG: &str = r#"{
    "methodConfig": [{
        "name": [{ "service": "shop.Orders", "method": "Get" }],
        "retryPolicy": {
            "maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.002s",
            "backoffMultiplier": 1, "retryableStatusCodes": ["ABORTED"]
        }
    }],
    "retryThrottling": { "maxTokens": 8, "tokenRatio": 0.1 }
}"#;

/// A service config in a file of its own, deleted with this.
struct ConfigFile(PathBuf);

impl ConfigFile {
    fn of(name: &str, text: &str) -> Self {
        let name = format!("stagger-proxy-{name}-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a temporary folder");
        Self(path)
    }

    /// Two routes to one server under this config; the second has nothing else in common with the first.
    fn routes(&self, server: &TestServer) -> String {
        let route = |name: &str, path: &str| {
            format!(
                "[route.{name}]\nupstream = '{}'\npath = '{path}'\nservice_config = '{}'\n",
                server.url(""),
                self.0.display()
            )
        };
        route("all", "/") + &route("orders", "/shop.Orders/Other")
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

async fn code(proxy: &RunningProxy, path: &str) -> String {
    let (reply, trailers) = unary(proxy, path, "5S").await;
    let of_head = text(reply.headers(), "grpc-status").to_owned();
    if of_head.is_empty() { text(&trailers, "grpc-status").to_owned() } else { of_head }
}

#[tokio::test]
async fn a_method_was_not_called_again_as_its_service_config_says() {
    let file = ConfigFile::of("by-config", CONFIG);
    let server = TestServer::start(Script::of([status(10), status(10), answer()])).await;
    let proxy = RunningProxy::start(&file.routes(&server)).await;
    assert_eq!(code(&proxy, "/shop.Orders/Get").await, "0");
    let seen = server.seen();
    let attempts: Vec<_> = seen.iter().map(|it| text(&it.headers, "stagger-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3"]);
    assert_eq!(text(&seen[2].headers, "grpc-previous-rpc-attempts"), "2");
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!((figures.attempts, figures.retries, figures.hedges), (3, 2, 0));
    let server = TestServer::start(Script::always(status(10))).await;
    let proxy = RunningProxy::start(&file.routes(&server)).await;
    assert_eq!(code(&proxy, "/shop.Orders/Create").await, "10", "a method without an entry");
    assert_eq!(server.taken(), 1);
}

#[tokio::test]
async fn the_budget_of_a_service_config_was_nobody_elses_and_full_after_a_reload() {
    let file = ConfigFile::of("budget", CONFIG);
    let server = TestServer::start(Script::always(status(10))).await;
    let text = format!("proxy.listen = '127.0.0.1:0'\n{}", file.routes(&server));
    let proxy = RunningProxy::start(&file.routes(&server)).await;
    for _ in 0..4 {
        assert_eq!(code(&proxy, "/shop.Orders/Get").await, "10");
    }
    // Eight tokens, one for each failure: from the fourth failure on half of them are gone, and nothing is repeated.
    assert_eq!(server.taken(), 3 + 1 + 1 + 1);
    let figures = |route: usize| {
        let routes = proxy.handle.snapshot().routes;
        let ledger = routes[route].destinations[0].ledger;
        (ledger.grants, ledger.refusals, ledger.level.retries)
    };
    let (grants, refusals, left) = figures(0);
    assert_eq!((grants, left), (2, 0), "the budget is among the figures of the destination");
    assert!(refusals >= 2, "{refusals}");
    assert_eq!(figures(0), figures(1), "both routes have one budget");
    let settings = ProxySettings::parse("routes.toml", &text).expect("good settings");
    proxy.handle.reload(&settings).await.expect("the same settings");
    let before = server.taken();
    assert_eq!(code(&proxy, "/shop.Orders/Get").await, "10");
    assert_eq!(server.taken() - before, 1, "a reload filled the budget again");
}

#[tokio::test]
async fn a_service_config_without_throttling_lost_the_budget_of_the_policy() {
    let config = CONFIG.replace("retryThrottling", "ignored");
    let file = ConfigFile::of("policy", &config);
    let server = TestServer::start(Script::always(status(10))).await;
    let routes = file.routes(&server).replace(
        "path = '/'\n",
        "path = '/'\npolicy = { budget = { window = { ratio = 0.1, floor = 0 } } }\n",
    );
    let proxy = RunningProxy::start(&routes).await;
    for _ in 0..20 {
        assert_eq!(code(&proxy, "/shop.Orders/Get").await, "10");
    }
    assert_eq!(server.taken(), 22, "a tenth more than the calls");
}
