//! The admin listener: metrics, the page and readiness of a proxy that works.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::json;
use stagger_testkit::Browser;
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};

use crate::client::{RunningProxy, send, text};

/// A desktop's window and a phone's.
const WINDOWS: [(u32, &str); 4] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")];

/// The parts of the page whose content is wider than they are.
const CUT: &str = "[...document.querySelectorAll('html, body, body *')]
    .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
    .map((e) => e.outerHTML.slice(0, 120))";

/// The findings of axe-core: the rule and the element of each violation.
const VIOLATIONS: &str = "axe.run().then((found) => found.violations.flatMap(
    (rule) => rule.nodes.map((node) => rule.id + ' ' + node.html.slice(0, 120))))";

async fn ask(proxy: &RunningProxy, path: &str) -> Response<Bytes> {
    let request = Request::get(path).header("host", "admin").body(Full::default());
    send(proxy.handle.admin().expect("an admin listener"), request.expect("a request")).await
}

async fn body(proxy: &RunningProxy, path: &str) -> String {
    String::from_utf8(ask(proxy, path).await.into_body().to_vec()).expect("text")
}

/// A proxy with a server that works and one that is away, each called once.
async fn with_one_refusal() -> (RunningProxy, TestServer) {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let away = RefusingPort::hold().expect("a port");
    let proxy = RunningProxy::start(&format!(
        "proxy.admin = '127.0.0.1:0'\n\
         [route.works]\nupstream = '{}'\npath = '/works'\n\
         [route.the-payments-of-customers-in-countries-far-away]\nupstream = '{}'\npath = '/away'\n\
         [route.the-payments-of-customers-in-countries-far-away.policy]\n\
         limits = {{ max_attempts = 2 }}\nbackoff = {{ base = '1ms', cap = '2ms' }}\nbreaker = {{}}",
        server.url(""),
        away.url("")
    ))
    .await;
    assert_eq!(proxy.ask("GET", "/works").await.status(), 200);
    assert_eq!(proxy.ask("GET", "/away").await.status(), 503);
    (proxy, server)
}

#[tokio::test]
async fn a_refused_call_was_not_in_the_metrics_or_on_the_page() {
    let (proxy, _server) = with_one_refusal().await;
    let metrics = body(&proxy, "/metrics").await;
    let sample = |name: &str, route: &str, label: &str| {
        let mut lines = metrics.lines().filter(|line| {
            line.starts_with(&format!("{name}{{")) && line.contains(route) && line.contains(label)
        });
        lines.next().and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    let value = |name, route, label| sample(name, route, label).unwrap_or_default();
    assert_eq!(value("stagger_proxy_attempts_total", "far-away", ""), "2", "{metrics}");
    assert_eq!(value("stagger_proxy_attempt_errors_total", "far-away", ""), "2");
    assert_eq!(value("stagger_proxy_budget_grants_total", "far-away", ""), "1");
    let stops = value("stagger_proxy_stops_total", "far-away", "attempts_exhausted");
    assert_eq!(stops, "1", "{metrics}");
    assert_eq!(value("stagger_proxy_breaker_state", "far-away", "closed"), "1");
    assert_eq!(value("stagger_proxy_replies_total", "works", "2xx"), "1");
    assert_eq!(value("stagger_proxy_calls_succeeded_total", "works", ""), "1");
    let page = ask(&proxy, "/").await;
    let policy = text(page.headers(), "content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let page = String::from_utf8_lossy(page.body()).into_owned();
    assert!(page.contains("attempts_exhausted") && page.contains("far-away"), "{page}");
}

#[tokio::test]
async fn a_proxy_that_ends_was_ready() {
    let server = TestServer::start(Script::always(Reaction::ok("all of it").stall(3))).await;
    let settings =
        format!("proxy.admin = '127.0.0.1:0'\n[route.a]\nupstream = '{}'", server.url(""));
    let proxy = RunningProxy::start(&settings).await;
    assert_eq!(ask(&proxy, "/readyz").await.status(), 200);
    let call = tokio::spawn(send(
        proxy.address,
        Request::get("/").header("host", "a").body(Full::default()).expect("a request"),
    ));
    server.until_taken(1).await;
    let (handle, admin) = (proxy.handle.clone(), proxy.handle.admin().expect("an admin listener"));
    let stopping = tokio::spawn(proxy.stop());
    while !handle.is_draining() {
        tokio::task::yield_now().await;
    }
    let request = Request::get("/readyz").header("host", "admin").body(Full::default());
    assert_eq!(send(admin, request.expect("a request")).await.status(), 503);
    call.abort();
    drop(server);
    stopping.await.expect("it does not panic");
}

/// A profile of the browser, deleted with this.
struct Profile(PathBuf);

impl Drop for Profile {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn check_page(url: &str, pictures: &Path) {
    let profile =
        Profile(std::env::temp_dir().join(format!("stagger-proxy-page-{}", std::process::id())));
    fs::create_dir_all(&profile.0).expect("a temporary folder");
    let axe = std::env::var_os("STAGGER_TEST_AXE")
        .map(|file| fs::read_to_string(file).expect("the rules of axe-core"));
    let mut browser = Browser::start(&profile.0);
    for (width, scheme) in WINDOWS {
        browser.set_window(width, scheme);
        browser.visit(url);
        fs::write(pictures.join(format!("proxy-{width}-{scheme}.png")), browser.picture())
            .expect("a picture");
        assert_eq!(browser.eval(CUT), json!([]), "{width}, {scheme}: nothing is cut");
        assert_eq!(browser.pale(), json!([]), "{width}, {scheme}: all texts can be read");
        if let Some(axe) = &axe {
            browser.eval(&format!("{axe}; true"));
            assert_eq!(browser.eval(VIOLATIONS), json!([]), "{width}, {scheme}: axe-core");
        }
        assert_eq!(browser.problems(), [""; 0], "{width}, {scheme}: no errors and no warnings");
    }
}

/// Runs if `STAGGER_TEST_CHROMIUM` names a folder for pictures; `STAGGER_TEST_AXE` names the file `axe.min.js` of axe-core.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_was_cut_or_pale_on_a_desktop_or_a_phone() {
    let Some(pictures) = std::env::var_os("STAGGER_TEST_CHROMIUM").map(PathBuf::from) else {
        return;
    };
    let (proxy, _server) = with_one_refusal().await;
    let url = format!("http://{}/", proxy.handle.admin().expect("an admin listener"));
    let looked = tokio::task::spawn_blocking(move || {
        fs::create_dir_all(&pictures).expect("a folder for pictures");
        check_page(&url, &pictures);
    });
    looked.await.expect("the page is right");
}
