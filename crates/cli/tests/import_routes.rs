//! `stagger import --to routes`: a file that the proxy takes, and calls through it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use serde_json::Value;
use stagger_proxy::config::{ProxySettings, RouteTarget};
use stagger_testkit::server::{BlockingServer, Identity, Reaction, Script};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples");

fn stagger(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null()).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("import-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

/// The routes of a settings file, written where the proxy can read them.
fn imported(folder: &Path, settings: &str) -> (PathBuf, String) {
    let output = stagger(&["import", settings, "--to", "routes"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = folder.join("routes.toml");
    fs::write(&file, &output.stdout).expect("writable");
    (file, text(&output.stdout))
}

#[test]
fn an_imported_route_set_a_header_that_the_proxy_refuses() {
    assert_eq!(stagger_import::PROXY_HEADERS, stagger_proxy::config::OWN_HEADERS);
}

#[test]
fn the_proxy_takes_the_routes_of_every_sample() {
    for (sample, routes) in [("envoy-routes.yaml", 4), ("istio-routes.yaml", 4)] {
        let folder = folder(sample);
        let (_, page) = imported(&folder, &format!("{SAMPLES}/{sample}"));
        // The certificates of a sample are on no machine: those of the test stand in for them.
        let page = page.replace("/etc/", &format!("{}/", folder.display()));
        let file = folder.join("routes.toml");
        fs::write(&file, &page).expect("writable");
        let settings = ProxySettings::parse("routes.toml", &page);
        let settings = settings.unwrap_or_else(|fault| panic!("{sample}: {fault}\n{page}"));
        assert_eq!(settings.routes.len(), routes, "{sample}");
        let identity = Identity::self_signed_authority();
        for name in ["ca.pem", "tls.crt"] {
            fs::write(folder.join(name), identity.authority_pem()).expect("writable");
        }
        fs::write(folder.join("tls.key"), identity.key_pem()).expect("writable");
        let checked = stagger(&["proxy", "--config", &file.display().to_string(), "--check"]);
        assert_eq!(checked.status.code(), Some(0), "{sample}: {}", text(&checked.stderr));
        let said = format!("the settings are good: {routes} routes\n");
        assert_eq!(text(&checked.stderr), said, "{sample}");
    }
}

#[test]
fn every_route_names_its_source_and_a_missing_listener_is_said() {
    let folder = folder("sources");
    let (_, page) = imported(&folder, &format!("{SAMPLES}/istio-routes.yaml"));
    let flat = page.replace("\n#   ", " ");
    assert!(flat.starts_with("# Imported from istio by `stagger import --to routes`.\n"), "{page}");
    assert!(flat.contains("# spec.http.0.match.0\n[route.read]\n"), "{page}");
    assert!(
        flat.contains("[proxy]\n# No listener in the settings of read, read-2, rest, partner"),
        "{page}"
    );
    assert!(flat.contains("# not imported: spec.http.0.match.2.headers = "), "{page}");
    let settings = ProxySettings::parse("routes.toml", &page).expect("good settings");
    assert!(settings.routes.iter().all(|route| route.listen.to_string() == "127.0.0.1:7878"));
    let (_, page) = imported(&folder, &format!("{SAMPLES}/envoy-routes.yaml"));
    assert!(!page.contains("[proxy]"), "its listener is named: {page}");
}

#[test]
fn the_object_has_the_same_routes_as_the_file() {
    let sample = format!("{SAMPLES}/envoy-routes.yaml");
    let output = stagger(&["import", &sample, "--to", "routes", "--format", "json"]);
    let page: Value = serde_json::from_slice(&output.stdout).expect("one value");
    assert_eq!(page["from"], serde_json::json!(["envoy"]));
    assert_eq!(page["routes"]["grpc"]["retry"]["grpc_methods"][0], "/shop.Carts/*");
    assert!(page["left_out"].as_array().is_some_and(|left| left.len() > 5), "{page:#}");
    let refused = stagger(&["import", &format!("{SAMPLES}/polly.json"), "--to", "routes"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("must be a file with routes of envoy or istio"));
}

#[test]
fn an_imported_route_makes_the_imported_number_of_attempts() {
    let folder = folder("attempts");
    let server = BlockingServer::start(Script::always(Reaction::status(503)));
    let port = server.address().port();
    // The listener has port 0, so that no other program's port is needed.
    let settings = format!(
        "static_resources:
  listeners:
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: 0 }} }}
      filter_chains:
        - filters:
            - typed_config:
                route_config:
                  virtual_hosts:
                    - name: shop
                      domains: ['*']
                      routes:
                        - name: orders
                          match: {{ prefix: /orders/ }}
                          route:
                            cluster: shop
                            prefix_rewrite: /v2/
                            retry_policy: {{ retry_on: 5xx, num_retries: 3, retry_back_off: {{ base_interval: 0.001s }} }}
                        - name: once
                          match: {{ prefix: /once/ }}
                          route: {{ cluster: shop }}
  clusters:
    - name: shop
      load_assignment:
        endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }} }} }}] }}]
"
    );
    let source = folder.join("envoy.yaml");
    fs::write(&source, settings).expect("writable");
    let (file, page) = imported(&folder, &source.display().to_string());
    let parsed = ProxySettings::parse("routes.toml", &page).expect("good settings");
    assert!(parsed.routes.iter().all(|route| matches!(route.target, RouteTarget::Upstreams(_))));
    let proxy = RunningProxy::start(&file);
    let reply = proxy.get("/orders/7");
    assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
    let seen: Vec<String> = server.seen().into_iter().map(|request| request.path).collect();
    assert_eq!(seen, ["/v2/7"; 4], "num_retries of 3 makes 4 attempts");
    proxy.get("/once/7");
    assert_eq!(server.seen().len(), 5, "a route without a retry policy makes one");
}

/// A proxy in the background, which ends with the test.
struct RunningProxy {
    child: Child,
    address: String,
}

impl RunningProxy {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(["proxy", "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.split_once("listening on http://").map(|(_, address)| address.to_owned())
        });
        // A full pipe must not stop it.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, address: address.expect("it listens") }
    }

    fn get(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        let head = format!("GET {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).expect("it reads");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).expect("it answers");
        reply
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
