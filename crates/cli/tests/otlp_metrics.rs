//! The metrics that `stagger serve --otlp` and `stagger proxy --otlp` push to a collector, beside a scrape of `/metrics`.
#![cfg(feature = "otel")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use prost::Message as _;
use stagger_testkit::server::{BlockingServer, Reaction, Script, SeenRequest};

const KEY: &str = "let-me-in-for-a-test";

/// A running dispatcher or proxy, killed with this.
struct Serving {
    child: Child,
    /// Its addresses: a dispatcher's for all, a proxy for operators last.
    addresses: Vec<String>,
}

impl Serving {
    fn dispatcher(collector: &str) -> Self {
        let serve = ["serve", "--memory", "--allow-private", "--listen", "127.0.0.1:0"];
        Self::start(&[&serve[..], &["--admin-key", KEY, "--otlp", collector]].concat(), 1)
    }

    fn proxy(routes: &Path, collector: &str) -> Self {
        let routes = routes.to_str().expect("UTF-8");
        Self::start(&["proxy", "--config", routes, "--otlp", collector], 2)
    }

    /// Runs with these arguments, and waits until it says that it listens on so many addresses.
    fn start(arguments: &[&str], listeners: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(arguments)
            .env("OTEL_METRIC_EXPORT_INTERVAL", "100")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let said = lines.by_ref().map(|line| line.expect("text"));
        let address = |line: String| line.split_once(" on http://").map(|(_, it)| it.to_owned());
        let addresses: Vec<String> = said.filter_map(address).take(listeners).collect();
        assert_eq!(addresses.len(), listeners, "it says where it listens");
        // A full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, addresses }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> String {
        self.call_at(0, method, path, body)
    }

    /// The body of the answer at one of its addresses, which must be a success.
    fn call_at(&self, listener: usize, method: &str, path: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.addresses[listener]).expect("it listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).expect("it reads");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).expect("UTF-8");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a reply");
        assert!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {reply}");
        body.to_owned()
    }

    fn id(&self, path: &str, body: &str) -> String {
        let made: serde_json::Value =
            serde_json::from_str(&self.call("POST", path, body)).expect("JSON");
        made["id"].as_str().expect("an id").to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The values of a scrape, each by its line without the value.
fn scraped(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(pair).collect()
}

/// The same of an export: its names and labels as the text shows them.
fn exported(request: &SeenRequest) -> BTreeMap<String, f64> {
    let sent = ExportMetricsServiceRequest::decode(request.body.clone()).expect("an export");
    let mut values = BTreeMap::new();
    let scopes = sent.resource_metrics.into_iter().flat_map(|it| it.scope_metrics);
    for metric in scopes.flat_map(|scope| scope.metrics) {
        let unit = if metric.unit == "s" { "_seconds" } else { "" };
        let name = format!("{}{unit}", metric.name.replace('.', "_"));
        match metric.data.expect("data") {
            Data::Sum(sum) => {
                for point in sum.data_points {
                    let series = format!("{name}_total{}", labels(&point.attributes, None));
                    values.insert(series, value(point.value));
                }
            }
            Data::Gauge(gauge) => {
                for point in gauge.data_points {
                    values.insert(
                        format!("{name}{}", labels(&point.attributes, None)),
                        value(point.value),
                    );
                }
            }
            Data::Histogram(histogram) => {
                for point in histogram.data_points {
                    let mut below = 0;
                    let bounds = point.explicit_bounds.iter().map(ToString::to_string);
                    let bounds = bounds.chain(["+Inf".to_owned()]);
                    for (bound, count) in bounds.zip(&point.bucket_counts) {
                        below += count;
                        let labels = labels(&point.attributes, Some(&bound));
                        values.insert(format!("{name}_bucket{labels}"), figure(below));
                    }
                    let labels = labels(&point.attributes, None);
                    values.insert(format!("{name}_sum{labels}"), point.sum.expect("a sum"));
                    values.insert(format!("{name}_count{labels}"), figure(point.count));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    values
}

#[expect(clippy::cast_precision_loss, reason = "the counts of a test are small")]
const fn figure(count: u64) -> f64 {
    count as f64
}

fn value(number: Option<Number>) -> f64 {
    match number.expect("a number") {
        Number::AsDouble(value) => value,
        Number::AsInt(value) => figure(value.cast_unsigned()),
    }
}

fn labels(attributes: &[KeyValue], bound: Option<&str>) -> String {
    let text = |pair: &KeyValue| match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => format!("{}=\"{text}\"", pair.key.replace('.', "_")),
        other => panic!("{other:?}"),
    };
    let bound = bound.map(|bound| format!("le=\"{bound}\""));
    let all: Vec<_> = attributes.iter().map(text).chain(bound).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// The last export of metrics, if any has come.
fn last_export(collector: &BlockingServer) -> Option<BTreeMap<String, f64>> {
    let seen = collector.seen();
    seen.iter().rfind(|request| request.path == "/v1/metrics").map(exported)
}

#[test]
fn a_collector_had_other_numbers_than_a_scrape() {
    let collector = BlockingServer::start(Script::of([]));
    let receiver = BlockingServer::start(Script::of([Reaction::status(500)]));
    let serving = Serving::dispatcher(&collector.url("/v1/traces"));
    let app = serving.id("/v1/applications", r#"{"name":"shop"}"#);
    let endpoint = format!(
        r#"{{"url":"{}","policy":{{"backoff":{{"base":"1ms","cap":"2ms"}}}}}}"#,
        receiver.url("/")
    );
    serving.id(&format!("/v1/applications/{app}/endpoints"), &endpoint);
    for _ in 0..5 {
        let message = r#"{"event_type":"a","payload":1}"#;
        serving.id(&format!("/v1/applications/{app}/messages"), message);
    }
    let is_over = |values: &BTreeMap<String, f64>| {
        values.get("stagger_deliveries_ended_total{stagger_state=\"delivered\"}") == Some(&5.0)
            && values.get("stagger_settlements_unsettled") == Some(&0.0)
    };
    // Once nothing changes any more, the exports and the scrape are the same but for the times.
    loop {
        if let Some(last) = last_export(&collector).filter(is_over) {
            let scrape = scraped(&serving.call("GET", "/metrics", ""));
            assert!(last["stagger_attempts_total{stagger_verdict=\"transient\"}"] >= 1.0);
            assert!(
                last.keys().any(|name| name.starts_with("stagger_attempt_latency_seconds_bucket"))
            );
            assert_eq!(last, scrape);
            return;
        }
        serving.call("GET", "/healthz", "");
    }
}

#[test]
fn a_collector_of_a_proxy_had_other_numbers_than_a_scrape() {
    let collector = BlockingServer::start(Script::of([]));
    let upstream = BlockingServer::start(Script::of([Reaction::status(503)]));
    let routes = std::env::temp_dir().join(format!("stagger-otlp-{}.toml", std::process::id()));
    let text = format!(
        "[proxy]\nlisten = '127.0.0.1:0'\nadmin = '127.0.0.1:0'\n\n[route.api]\n\
         upstream = '{}'\npolicy.backoff = {{ base = '1ms', cap = '2ms' }}\n",
        upstream.url("")
    );
    std::fs::write(&routes, text).expect("a folder for temporary files");
    let serving = Serving::proxy(&routes, &collector.url("/v1/traces"));
    for _ in 0..5 {
        serving.call("GET", "/", "");
    }
    // Attributes are those of spans, and labels the same without their beginning.
    let shown = |name: &str| name.replace("{stagger_", "{").replace(",stagger_", ",");
    let calls = format!("{{route=\"api\",destination=\"{}\"}}", upstream.url(""));
    let settled = |values: &BTreeMap<String, f64>| {
        values.get(&format!("stagger_proxy_calls_succeeded_total{calls}")) == Some(&5.0)
            && values.get("stagger_proxy_connections") == Some(&0.0)
    };
    loop {
        let last = last_export(&collector).unwrap_or_default();
        let last: BTreeMap<String, f64> =
            last.into_iter().map(|(name, value)| (shown(&name), value)).collect();
        let scrape = scraped(&serving.call_at(1, "GET", "/metrics", ""));
        if settled(&last) && last == scrape {
            assert_eq!(last[&format!("stagger_proxy_attempts_total{calls}")], 6.0);
            break;
        }
    }
    std::fs::remove_file(&routes).expect("it was written");
}
