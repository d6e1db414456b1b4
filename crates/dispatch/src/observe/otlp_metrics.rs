//! Metrics of a program to a collector: OTLP over HTTP, as protocol buffers. The numbers are those of its `/metrics` at that
//! moment.
//!
//! They are cumulative, so that an export that fails loses nothing: the next one has all of it. So nothing waits in a
//! queue: one export runs at a time, and ends with its timeout.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use stagger::{Sleep, Span, StdTime, TokioTime};
use tokio::task::AbortHandle;

use super::exposition::{FamilyKind, MetricFamily, Sample, families};
use crate::Error;

/// The end of a collector's path for traces, and that for metrics beside it.
const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";
/// The interval of exports and the timeout of one, by default, as OpenTelemetry has them.
const INTERVAL: Span = Span::from_secs(60);
const TIMEOUT: Span = Span::from_secs(10);
/// The variable with another URL.
const URL: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
/// The bytes of a collector's answer that are read.
const ANSWER: usize = 64 << 10;

/// The names of OpenTelemetry for what a text for Prometheus shows under others.
#[derive(Clone, Copy, Debug)]
pub struct MetricNames {
    /// The name of an instrument, by its name in the text without `_total` and `_seconds` at its end.
    pub instrument: fn(&str) -> String,
    /// The name of an attribute, by that of its label.
    pub attribute: fn(&str) -> String,
}

/// The exporter of metrics, which ends when this is dropped.
#[derive(Debug)]
#[must_use = "metrics are exported until it is dropped"]
pub struct MetricsExport {
    task: AbortHandle,
}

impl Drop for MetricsExport {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The receiver of the metrics, and the time between two sendings.
#[derive(Clone, Debug)]
struct ExportSettings {
    url: Uri,
    headers: HeaderMap,
    interval: Span,
    timeout: Span,
}

impl ExportSettings {
    /// The collector of traces at `traces`, or that of the variables of OpenTelemetry, which override it.
    fn read(traces: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let named = |name: &'static str| variable(name).map(|text| (name, text));
        let either = |of_metrics, of_all| named(of_metrics).or_else(|| named(of_all));
        let millis = |found: Option<(&'static str, String)>, default| match found {
            None => Ok(default),
            Some((name, text)) => {
                let parsed = text.parse::<u64>().ok().filter(|millis| *millis > 0);
                let bound = "a number of milliseconds above 0";
                parsed.map(Span::from_millis).ok_or_else(|| Error::invalid(name, text, bound))
            }
        };
        let url = variable(URL).unwrap_or_else(|| beside(traces));
        let wrong = |_| Error::invalid(URL, &url, "the http URL of a collector");
        let url = url.parse::<Uri>().map_err(wrong)?;
        let headers = either("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
        let timeout = either("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
        let interval = named("OTEL_METRIC_EXPORT_INTERVAL");
        Ok(Self {
            url,
            headers: headers.map(|(_, text)| header_map(&text)).unwrap_or_default(),
            interval: millis(interval, INTERVAL)?,
            timeout: millis(timeout, TIMEOUT)?,
        })
    }
}

/// The path for metrics at a collector whose path for traces is known.
fn beside(traces: &str) -> String {
    match traces.trim_end_matches('/').strip_suffix(TRACES) {
        Some(base) => format!("{base}{METRICS}"),
        None => traces.to_owned(),
    }
}

/// The headers of a variable, `name=value` with commas between them and values percent-encoded. Malformed ones are left
/// out, as the exporter of traces does.
fn header_map(text: &str) -> HeaderMap {
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = HeaderName::try_from(name.trim()).ok()?;
        let mut value = HeaderValue::from_bytes(&decoded(value.trim())).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    text.split(',').filter_map(header).collect()
}

fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Sends metrics to the collector whose URL for traces is `traces`, until the result is dropped: those of `text`, in the
/// format of Prometheus, under these names. The variables of OpenTelemetry set all else. To be called in a tokio runtime.
///
/// # Errors
/// A variable of OpenTelemetry is out of its bounds.
pub fn export_metrics<F, R>(
    text: F,
    names: MetricNames,
    traces: &str,
) -> Result<MetricsExport, Error>
where
    F: Fn() -> R + Send + 'static,
    R: Future<Output = String> + Send,
{
    let settings = ExportSettings::read(traces, |name| {
        std::env::var(name).ok().filter(|text| !text.is_empty())
    })?;
    let task = tokio::spawn(async move {
        let exporter = Exporter { settings, names, client: client(), started: unix_nanos() };
        let mut is_failing = false;
        loop {
            TokioTime.sleep(exporter.settings.interval).await;
            let sent = exporter.send(&text().await).await;
            if let Err(error) = &sent
                && !is_failing
            {
                tracing::warn!(error, "metrics not exported, retrying at each interval");
            }
            is_failing = sent.is_err();
        }
    });
    Ok(MetricsExport { task: task.abort_handle() })
}

struct Exporter {
    settings: ExportSettings,
    names: MetricNames,
    client: Client<HttpConnector, Full<Bytes>>,
    started: u64,
}

fn client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

impl Exporter {
    /// Sends one export, within its timeout.
    async fn send(&self, text: &str) -> Result<(), String> {
        let times = (self.started, unix_nanos());
        let body = request(text, self.names, times).encode_to_vec();
        let mut request = Request::post(self.settings.url.clone())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::from(body))
            .map_err(|error| error.to_string())?;
        request.headers_mut().extend(self.settings.headers.clone());
        let answer = async {
            let reply = self.client.request(request).await.map_err(|error| error.to_string())?;
            let status = reply.status();
            // Read to its end, so that the connection can be used again.
            let rest = Limited::new(reply.into_body(), ANSWER).collect().await;
            rest.map_err(|error| error.to_string())?;
            if status.is_success() {
                Ok(())
            } else {
                Err(format!("the collector answers {status}"))
            }
        };
        tokio::select! {
            biased;
            answer = answer => answer,
            () = TokioTime.sleep(self.settings.timeout) => {
                Err(format!("no answer within {}", self.settings.timeout))
            }
        }
    }
}

fn unix_nanos() -> u64 {
    let now = StdTime::wall().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| Span::from(now).as_nanos())
}

/// The export of a text of metrics; `times` are the start of the process and now.
fn request(text: &str, names: MetricNames, times: (u64, u64)) -> ExportMetricsServiceRequest {
    let metrics = families(text).iter().map(|family| metric(family, names, times)).collect();
    let scope = InstrumentationScope {
        name: "stagger".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope = ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() };
    let resource =
        Resource { attributes: vec![attribute("service.name", "stagger")], ..Resource::default() };
    let resource = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }
}

fn metric(family: &MetricFamily, names: MetricNames, times: (u64, u64)) -> Metric {
    let (shown, unit) = base_and_unit(&family.name);
    let name = (names.instrument)(shown);
    let temporality = AggregationTemporality::Cumulative.into();
    let numbers = || family.samples.iter().map(|sample| number(sample, names, times)).collect();
    let data = match family.kind {
        FamilyKind::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        FamilyKind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        FamilyKind::Histogram => Data::Histogram(Histogram {
            data_points: histograms(&family.samples, names, times),
            aggregation_temporality: temporality,
        }),
    };
    let description = family.help.clone();
    Metric { name, unit: unit.to_owned(), description, data: Some(data), ..Metric::default() }
}

/// A name of the text without its end, and the unit that the end tells.
fn base_and_unit(shown: &str) -> (&str, &'static str) {
    let base = shown.strip_suffix("_total").unwrap_or(shown);
    match base.strip_suffix("_seconds") {
        Some(base) => (base, "s"),
        None => (base, if base.ends_with("_bytes") { "By" } else { "" }),
    }
}

fn number(sample: &Sample, names: MetricNames, (started, now): (u64, u64)) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(&sample.labels, names),
        start_time_unix_nano: started,
        time_unix_nano: now,
        value: Some(Number::AsDouble(sample.value)),
        ..NumberDataPoint::default()
    }
}

/// The histograms of a family, one for each set of labels.
fn histograms(
    samples: &[Sample],
    names: MetricNames,
    (started, now): (u64, u64),
) -> Vec<HistogramDataPoint> {
    let mut points: BTreeMap<Vec<(String, String)>, HistogramDataPoint> = BTreeMap::new();
    for sample in samples {
        let mut labels = sample.labels.clone();
        let bound = labels.iter().position(|(name, _)| name == "le").map(|at| labels.remove(at).1);
        let point = points.entry(labels).or_default();
        match (sample.part.as_str(), bound) {
            ("_bucket", Some(bound)) => {
                // In the text each bucket counts those below it too.
                let below: u64 = point.bucket_counts.iter().sum();
                point.bucket_counts.push(whole(sample.value).saturating_sub(below));
                point.explicit_bounds.extend(bound.parse::<f64>().ok().filter(|it| it.is_finite()));
            }
            ("_sum", _) => point.sum = Some(sample.value),
            ("_count", _) => point.count = whole(sample.value),
            _ => {}
        }
    }
    let filled =
        |(labels, point): (Vec<(String, String)>, HistogramDataPoint)| HistogramDataPoint {
            attributes: attributes(&labels, names),
            start_time_unix_nano: started,
            time_unix_nano: now,
            ..point
        };
    points.into_iter().map(filled).collect()
}

/// A count, which the text has as a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count fits")]
const fn whole(value: f64) -> u64 {
    value as u64
}

fn attributes(labels: &[(String, String)], names: MetricNames) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(&(names.attribute)(name), value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use stagger_testkit::server::{Reaction, Script, TestServer};

    use super::super::instruments::METRIC_NAMES;
    use super::*;

    const TEXT: &str = "# HELP stagger_attempts_total Attempts that are over\n\
        # TYPE stagger_attempts_total counter\n\
        stagger_attempts_total{stagger_verdict=\"ok\"} 7\n\
        stagger_attempts_total{stagger_verdict=\"transient\"} 3\n\
        # TYPE stagger_payload_memory_bytes gauge\nstagger_payload_memory_bytes 1024\n\
        # TYPE stagger_attempt_latency_seconds histogram\n\
        stagger_attempt_latency_seconds_bucket{le=\"0.01\"} 2\n\
        stagger_attempt_latency_seconds_bucket{le=\"0.5\"} 5\n\
        stagger_attempt_latency_seconds_bucket{le=\"+Inf\"} 6\n\
        stagger_attempt_latency_seconds_sum 4.5\nstagger_attempt_latency_seconds_count 6\n";

    fn none(_: &str) -> Option<String> {
        None
    }

    fn exporter(url: &str, variable: impl Fn(&str) -> Option<String>) -> Exporter {
        let settings = ExportSettings::read(url, variable).expect("valid");
        Exporter { settings, names: METRIC_NAMES, client: client(), started: 1 }
    }

    #[tokio::test]
    async fn a_collector_gets_names_units_and_buckets_that_do_not_overlap() {
        let collector = TestServer::start(Script::of([])).await;
        let headers = |name: &str| {
            (name == "OTEL_EXPORTER_OTLP_HEADERS")
                .then(|| "authorization=Bearer%20x, bad".to_owned())
        };
        exporter(&collector.url("/v1/traces"), headers).send(TEXT).await.expect("it is taken");
        let seen = collector.seen();
        assert_eq!(seen[0].path, "/v1/metrics");
        assert_eq!(seen[0].headers["authorization"], "Bearer x");
        let sent = ExportMetricsServiceRequest::decode(seen[0].body.clone()).expect("an export");
        let metrics = &sent.resource_metrics[0].scope_metrics[0].metrics;
        let names: Vec<_> = metrics.iter().map(|it| (it.name.as_str(), it.unit.as_str())).collect();
        let latency = ("stagger.attempt.latency", "s");
        assert_eq!(
            names,
            [("stagger.attempts", ""), ("stagger.payload.memory.bytes", "By"), latency]
        );
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("a counter") };
        assert!(sum.is_monotonic && sum.data_points[0].attributes[0].key == "stagger.verdict");
        let Some(Data::Histogram(histogram)) = &metrics[2].data else { panic!("a histogram") };
        let point = &histogram.data_points[0];
        assert_eq!(
            (&point.bucket_counts[..], &point.explicit_bounds[..]),
            (&[2, 3, 1][..], &[0.01, 0.5][..])
        );
        assert_eq!((point.count, point.sum), (6, Some(4.5)));
    }

    #[tokio::test]
    async fn a_collector_that_refuses_or_hangs_ends_within_the_timeout() {
        let collector =
            TestServer::start(Script::of([Reaction::status(503), Reaction::hang()])).await;
        let short = |name: &str| (name == "OTEL_EXPORTER_OTLP_TIMEOUT").then(|| "50".to_owned());
        let exporter = exporter(&collector.url("/v1/traces"), short);
        let refused = exporter.send(TEXT).await.expect_err("refused");
        assert!(refused.contains("503"), "{refused}");
        let late = exporter.send(TEXT).await.expect_err("it hangs");
        assert!(late.contains("no answer within"), "{late}");
    }

    #[test]
    fn variables_of_opentelemetry_have_bounds_and_override() {
        let settings = |name: &'static str, text: &'static str| {
            ExportSettings::read("http://c:4318/v1/traces", move |asked| {
                (asked == name).then(|| text.to_owned())
            })
        };
        let own = settings("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://d/push").expect("valid");
        assert_eq!(
            (own.url.to_string(), own.interval, own.timeout),
            ("http://d/push".into(), INTERVAL, TIMEOUT)
        );
        let often = settings("OTEL_METRIC_EXPORT_INTERVAL", "500").expect("valid");
        assert_eq!(often.interval, Span::from_millis(500));
        for (name, text) in
            [("OTEL_METRIC_EXPORT_INTERVAL", "0"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]
        {
            let wrong = settings(name, text).expect_err(name).to_string();
            assert!(wrong.contains(name) && wrong.contains("milliseconds"), "{wrong}");
        }
        let other = ExportSettings::read("http://c:4318/collect", none).expect("valid");
        assert_eq!(other.url, "http://c:4318/collect");
        assert_eq!(decoded("a%2Cb%zz%2"), b"a,b%zz%2");
    }
}
