//! Figures for programs.

use serde::Serialize;
use serde_json::{Value, json};
use stagger_core::Span;
use stagger_core::adaptive::AdaptivePlan;
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::rate_limit::RatePlan;
use stagger_explain::{Explanation, Extent, LoadFactor, Method, PlannedAttempt};
use stagger_text::rounded;

use super::account::Account;
use crate::render::{millis, page};

#[derive(Debug, Serialize)]
struct Object<'a> {
    policy: &'a str,
    attempts: Vec<AttemptRow>,
    attempts_end: &'static str,
    method: Value,
    throttled_attempts: Option<Vec<AttemptRow>>,
    worst_waits_ms: f64,
    worst_case_ms: Option<f64>,
    worst_case_hinted_ms: Option<f64>,
    slo: Option<Value>,
    rides_out: Value,
    load_factor: Loads,
    load_factor_without_budget: Loads,
    load_factor_method: Loads,
    amplification: Option<Value>,
    fleet: Option<Value>,
    cap_share: Value,
    /// As it is written in a policy.
    adaptive: Option<AdaptivePlan>,
    concurrency_limit: Option<ConcurrencyPlan>,
    rate_limit: Option<RatePlan>,
    findings: Vec<Value>,
}

/// By the share that fails, in percent.
#[derive(Debug, Serialize)]
struct Loads {
    #[serde(rename = "10")]
    tenth: Value,
    #[serde(rename = "50")]
    half: Value,
    #[serde(rename = "100")]
    all: Value,
}

#[derive(Debug, Serialize)]
struct AttemptRow {
    attempt: u32,
    ceiling_ms: f64,
    shortest_ms: f64,
    longest_ms: f64,
    mean_ms: f64,
    p50_ms: f64,
    p99_ms: f64,
    cumulative_best_ms: f64,
    cumulative_mean_ms: f64,
    cumulative_worst_ms: f64,
    reached: f64,
}

/// One object for one policy, a list for several; what is unknown is null.
pub(super) fn json(accounts: &[Account]) -> String {
    match accounts {
        [one] => page(&object(one)),
        several => page(&several.iter().map(object).collect::<Vec<_>>()),
    }
}

fn object(account: &Account) -> Object<'_> {
    let figures = &account.figures;
    let rows = |attempts: &[PlannedAttempt]| attempts.iter().map(row).collect();
    Object {
        policy: &account.name,
        attempts: rows(&figures.attempts),
        attempts_end: match figures.extent {
            Extent::Attempts => "attempts",
            Extent::Deadline => "deadline",
            Extent::Budget => "budget",
            Extent::Rows => "rows",
        },
        method: method(figures.method),
        throttled_attempts: figures.throttled.as_deref().map(rows),
        worst_waits_ms: millis(figures.worst_waits),
        worst_case_ms: figures.worst_case.map(millis),
        worst_case_hinted_ms: figures.worst_case_hinted.map(millis),
        slo: figures.slo.map(|slo| {
            json!({ "ok": slo.ok, "hinted_ok": slo.hinted_ok, "limit_ms": millis(slo.limit) })
        }),
        rides_out: rides_out(figures),
        load_factor: load(figures, |factor| rounded(factor.with_budget).into()),
        load_factor_without_budget: load(figures, |factor| rounded(factor.without_budget).into()),
        load_factor_method: load(figures, |factor| method(factor.method)),
        amplification: amplification(account),
        fleet: fleet(figures),
        cap_share: json!({
            "of_all": rounded(figures.cap_share.of_all),
            "of_last": rounded(figures.cap_share.of_last),
        }),
        adaptive: account.policy.adaptive().copied(),
        concurrency_limit: account.policy.concurrency_limit().copied(),
        rate_limit: account.policy.rate_limit().copied(),
        findings: figures
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "code": finding.code.name(),
                    "severity": finding.severity.to_string(),
                    "key": finding.key,
                    "message": finding.message,
                    "fix": finding.fix,
                })
            })
            .collect(),
    }
}

fn row(attempt: &PlannedAttempt) -> AttemptRow {
    let ms = |span: Span| millis(span);
    AttemptRow {
        attempt: attempt.attempt,
        ceiling_ms: ms(attempt.ceiling),
        shortest_ms: ms(attempt.shortest),
        longest_ms: ms(attempt.longest),
        mean_ms: ms(attempt.mean),
        p50_ms: ms(attempt.p50),
        p99_ms: ms(attempt.p99),
        cumulative_best_ms: ms(attempt.cumulative_best),
        cumulative_mean_ms: ms(attempt.cumulative_mean),
        cumulative_worst_ms: ms(attempt.cumulative_worst),
        reached: rounded(attempt.reached),
    }
}

fn method(method: Method) -> Value {
    match method {
        Method::Exact => json!({ "kind": "exact", "calls": null }),
        Method::Sample { calls } => json!({ "kind": "sample", "calls": calls }),
    }
}

fn rides_out(figures: &Explanation) -> Value {
    let out = figures.rides_out;
    json!({
        "p5_ms": millis(out.p5),
        "p50_ms": millis(out.p50),
        "method": method(out.method),
    })
}

fn load(figures: &Explanation, of: impl Fn(&LoadFactor) -> Value) -> Loads {
    let [tenth, half, all] = figures.load.each_ref().map(of);
    Loads { tenth, half, all }
}

fn amplification(account: &Account) -> Option<Value> {
    let (unguarded, guarded) = account.figures.amplification?;
    let layers = account.setting.layers?;
    Some(json!({ "layers": layers, "without_guard": unguarded, "with_guard": guarded }))
}

/// A number without bound is null too: JSON has none.
fn fleet(figures: &Explanation) -> Option<Value> {
    let fleet = figures.fleet?;
    let finite = |value: f64| value.is_finite().then(|| rounded(value));
    Some(json!({
        "firsts_per_s": finite(fleet.firsts_per_s),
        "retries_per_s": finite(fleet.retries_per_s),
        "burst": finite(fleet.burst),
        "capacity_per_s": fleet.capacity_per_s.and_then(finite),
    }))
}
