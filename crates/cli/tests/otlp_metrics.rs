//! The metrics that `stagger serve --otlp` pushes to a collector, beside a scrape of its `/metrics`.
#![cfg(feature = "otel")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use prost::Message as _;
use stagger_testkit::server::{BlockingServer, Reaction, Script, SeenRequest};

const KEY: &str = "let-me-in-for-a-test";

/// A running dispatcher, killed with this.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(collector: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(["serve", "--memory", "--allow-private", "--listen", "127.0.0.1:0"])
            .args(["--admin-key", KEY, "--otlp", collector])
            .env("OTEL_METRIC_EXPORT_INTERVAL", "100")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let address = lines
            .by_ref()
            .map(|line| line.expect("text"))
            .find_map(|line| line.split_once("listening on http://").map(|(_, it)| it.to_owned()))
            .expect("it says where it listens");
        // A full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
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

#[test]
fn a_collector_had_other_numbers_than_a_scrape() {
    let collector = BlockingServer::start(Script::of([]));
    let receiver = BlockingServer::start(Script::of([Reaction::status(500)]));
    let serving = Serving::start(&collector.url("/v1/traces"));
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
    let metrics = |request: &SeenRequest| request.path == "/v1/metrics";
    // Once nothing changes any more, the exports and the scrape are the same but for the times.
    loop {
        let exports: Vec<_> = collector.seen().into_iter().filter(metrics).collect();
        if let Some(last) = exports.last().map(exported).filter(is_over) {
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
