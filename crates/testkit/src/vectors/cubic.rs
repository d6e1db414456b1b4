//! The AWS adaptive rate limiter: the curve alone, and the whole limiter.

use serde::Deserialize;
use stagger_core::adaptive::{CubicLimiter, CubicRate};
use stagger_core::{Instant, Span};

use super::Suite;

const SPEC: &str = include_str!("../../../../vectors/aws-retry/adaptive-cubic.yaml");
const JS: &str = include_str!("../../../../vectors/aws-retry/js-rate-limiter.json");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    adaptive_retry_cubic_test_cases: Vec<CurveCase>,
    adaptive_retry_e2e_test_cases: Vec<LimiterCase>,
}

#[derive(Deserialize)]
struct CurveCase {
    name: String,
    given: CubicSetup,
    cases: Vec<CurveRow>,
}

#[derive(Deserialize)]
struct CubicSetup {
    last_max_rate: f64,
    last_throttle_time: f64,
}

#[derive(Deserialize)]
struct CurveRow {
    response: Response,
    timestamp: f64,
    calculated_rate: f64,
}

#[derive(Deserialize)]
struct LimiterCase {
    name: String,
    cases: Vec<LimiterRow>,
}

#[derive(Deserialize)]
struct LimiterRow {
    response: Response,
    timestamp: f64,
    measured_tx_rate: f64,
    new_token_bucket_rate: f64,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Response {
    Success,
    Throttle,
}

#[derive(Deserialize)]
struct Js {
    cubic_success: JsCurve,
    get_send_token_delay_ms: JsDelays,
}

#[derive(Deserialize)]
struct JsCurve {
    given: CubicSetup,
    rows: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
struct JsDelays {
    rows: Vec<(f64, f64)>,
}

/// Runs the vectors of these files.
pub(super) fn run() -> Vec<Suite> {
    let spec: Spec = serde_saphyr::from_str(SPEC).expect("the file is as it was copied");
    let js: Js = serde_json::from_str(JS).expect("the file is as it was copied");
    vec![
        curves(&spec.adaptive_retry_cubic_test_cases),
        limiters(&spec.adaptive_retry_e2e_test_cases),
        js_curve(&js.cubic_success),
        js_delays(&js.get_send_token_delay_ms),
    ]
}

fn curves(cases: &[CurveCase]) -> Suite {
    let mut suite = Suite::new("aws-retry/adaptive-cubic.yaml: curve");
    for case in cases {
        let mut curve = case.given.curve();
        let mut rate = case.given.last_max_rate;
        for row in &case.cases {
            let now = at(row.timestamp);
            rate = match row.response {
                Response::Success => curve.at(now),
                Response::Throttle => curve.throttle(rate, now),
            };
            let name = format!("{} at {} s", case.name, row.timestamp);
            suite.check(name, &digits(rate), &digits(row.calculated_rate));
        }
    }
    suite
}

fn limiters(cases: &[LimiterCase]) -> Suite {
    let mut suite = Suite::new("aws-retry/adaptive-cubic.yaml: limiter");
    for case in cases {
        let mut limiter = CubicLimiter::new(Instant::ORIGIN);
        for row in &case.cases {
            limiter.settle(at(row.timestamp), row.response == Response::Throttle);
            let got = (digits(limiter.measured_rate()), digits(limiter.rate()));
            let want = (digits(row.measured_tx_rate), digits(row.new_token_bucket_rate));
            suite.check(format!("{} at {} s", case.name, row.timestamp), &got, &want);
        }
    }
    suite
}

fn js_curve(vectors: &JsCurve) -> Suite {
    let mut suite = Suite::new("aws-retry/js-rate-limiter.json: curve");
    for (timestamp, want) in &vectors.rows {
        let rate = vectors.given.curve().at(at(*timestamp));
        suite.check(format!("at {timestamp} s"), &digits(rate), &digits(*want));
    }
    suite
}

fn js_delays(vectors: &JsDelays) -> Suite {
    let mut suite = Suite::new("aws-retry/js-rate-limiter.json: delay");
    for (timestamp, want) in &vectors.rows {
        let now = at(*timestamp);
        let mut limiter = CubicLimiter::new(Instant::ORIGIN);
        limiter.settle(now, true);
        let delay = limiter.acquire(now).as_secs_f64() * 1000.0;
        suite.check(format!("at {timestamp} s"), &digits(delay), &digits(*want));
    }
    suite
}

impl CubicSetup {
    fn curve(&self) -> CubicRate {
        CubicRate::new(self.last_max_rate, at(self.last_throttle_time))
    }
}

/// The instant of a timestamp, which the files write in seconds with at most one decimal.
fn at(seconds: f64) -> Instant {
    Instant::ORIGIN + Span::from(std::time::Duration::from_secs_f64(seconds))
}

/// A figure to the six decimals that the files agree in.
fn digits(figure: f64) -> String {
    format!("{figure:.6}")
}
