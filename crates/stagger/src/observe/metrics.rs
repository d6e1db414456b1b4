//! Figures for recorders of `metrics`.

use metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use stagger_core::breaker::StateKind;
use stagger_core::retry::Done;
use stagger_core::{Outcome, Span};

use crate::ledger::LedgerStats;

const RETRIES: &str = "stagger.retries";
const DELAY: &str = "stagger.retry.delay";
const HEDGES: &str = "stagger.hedges";
const STOPS: &str = "stagger.stops";
const ATTEMPTS: &str = "stagger.call.attempts";
const LEVEL: &str = "stagger.budget.level";
const GRANTS: &str = "stagger.budget.grants";
const REFUSALS: &str = "stagger.budget.refusals";
const REFUNDS: &str = "stagger.budget.refunds";
const BREAKER_STATE: &str = "stagger.breaker.state";
const BREAKER_REFUSALS: &str = "stagger.breaker.refusals";
const BREAKER_OPENINGS: &str = "stagger.breaker.openings";

const ADAPTIVE_WAITS: &str = "stagger.adaptive.waits";
const ADAPTIVE_REFUSALS: &str = "stagger.adaptive.refusals";

const IN_FLIGHT: &str = "stagger.concurrency_limit.in_flight";
const QUEUED: &str = "stagger.concurrency_limit.queued";
const PLACE_WAITS: &str = "stagger.concurrency_limit.waits";
const PLACE_REFUSALS: &str = "stagger.concurrency_limit.refusals";
const RATE_WAITS: &str = "stagger.rate_limit.waits";
const RATE_REFUSALS: &str = "stagger.rate_limit.refusals";

const VERDICT: &str = "stagger.verdict";
const STOP_REASON: &str = "stagger.stop_reason";

/// The states of a breaker, and their names as labels.
const STATES: [(StateKind, &str); 4] = [
    (StateKind::Closed, "closed"),
    (StateKind::Open, "open"),
    (StateKind::HalfOpen, "half_open"),
    (StateKind::Ramp, "ramp"),
];

/// Describes each metric and its unit to the recorder. Call it once, after the
/// recorder is installed.
pub fn describe_metrics() {
    describe_counter!(RETRIES, Unit::Count, "Retries decided");
    describe_histogram!(DELAY, Unit::Seconds, "Delays before retries");
    describe_counter!(HEDGES, Unit::Count, "Further copies of slow calls");
    describe_counter!(STOPS, Unit::Count, "Ends of calls, clean first tries left out");
    describe_histogram!(ATTEMPTS, Unit::Count, "Attempts of calls, clean first tries left out");
    describe_gauge!(LEVEL, Unit::Count, "Retries that the budget would grant in a row");
    describe_counter!(GRANTS, Unit::Count, "Retries and hedges that the budget granted");
    describe_counter!(REFUSALS, Unit::Count, "Retries and hedges that the budget refused");
    describe_counter!(REFUNDS, Unit::Count, "Grants given back, because no attempt followed");
    describe_gauge!(BREAKER_STATE, Unit::Count, "1 for the state that the breaker is in");
    describe_counter!(BREAKER_REFUSALS, Unit::Count, "Attempts that the breaker refused");
    describe_counter!(BREAKER_OPENINGS, Unit::Count, "How often the breaker opened");
    describe_counter!(ADAPTIVE_WAITS, Unit::Count, "Attempts that the adaptive limit had wait");
    describe_counter!(ADAPTIVE_REFUSALS, Unit::Count, "Attempts that the adaptive limit refused");
    describe_attempt_limits();
    #[cfg(feature = "tonic")]
    super::grpc::describe();
}

fn describe_attempt_limits() {
    describe_gauge!(IN_FLIGHT, Unit::Count, "Attempts that hold a place by the concurrency limit");
    describe_gauge!(QUEUED, Unit::Count, "Attempts that wait for a place");
    describe_counter!(PLACE_WAITS, Unit::Count, "Attempts that had to wait for a place");
    describe_counter!(PLACE_REFUSALS, Unit::Count, "Attempts that got no place");
    describe_counter!(RATE_WAITS, Unit::Count, "Attempts that the rate limit had wait");
    describe_counter!(RATE_REFUSALS, Unit::Count, "Attempts that the rate limit refused");
}

/// Reports the figures of a ledger under the name of its destination. Nothing counts them in
/// between, so call it before each scrape, or every few seconds.
///
/// An unlimited budget has the level infinity. Without a breaker or a limit, nothing is said of one.
///
/// ```
/// use stagger::{Clock, Policy, Retrier, StdTime, observe};
/// let inventory = Retrier::new(Policy::default(), StdTime).named("inventory");
/// let stats = inventory.ledger().stats(StdTime.now());
/// assert_eq!(stats.grants, 0);
/// observe::report_ledger("inventory", &stats);
/// ```
pub fn report_ledger(destination: &'static str, stats: &LedgerStats) {
    let name = Some(destination);
    gauge!(LEVEL, labels(name)).set(float(stats.level.retries));
    counter!(GRANTS, labels(name)).absolute(stats.grants);
    counter!(REFUSALS, labels(name)).absolute(stats.refusals);
    counter!(REFUNDS, labels(name)).absolute(stats.refunds);
    if let Some(adaptive) = stats.adaptive {
        counter!(ADAPTIVE_WAITS, labels(name)).absolute(adaptive.waits);
        counter!(ADAPTIVE_REFUSALS, labels(name)).absolute(adaptive.refusals);
    }
    if let Some(places) = stats.concurrency_limit {
        gauge!(IN_FLIGHT, labels(name)).set(float(places.in_flight));
        gauge!(QUEUED, labels(name)).set(float(places.queued));
        counter!(PLACE_WAITS, labels(name)).absolute(places.waits);
        counter!(PLACE_REFUSALS, labels(name)).absolute(places.refusals);
    }
    if let Some(rate) = stats.rate_limit {
        counter!(RATE_WAITS, labels(name)).absolute(rate.waits);
        counter!(RATE_REFUSALS, labels(name)).absolute(rate.refusals);
    }
    let Some(state) = stats.breaker else { return };
    for (kind, label) in STATES {
        let labels = labelled(name, BREAKER_STATE, label);
        gauge!(BREAKER_STATE, labels).set(if kind == state { 1.0 } else { 0.0 });
    }
    counter!(BREAKER_REFUSALS, labels(name)).absolute(stats.breaker_refusals);
    counter!(BREAKER_OPENINGS, labels(name)).absolute(stats.breaker_opened);
}

pub(super) fn retried(name: Option<&'static str>, delay: Span, outcome: &Outcome) {
    let labels = labelled(name, VERDICT, outcome.verdict.name());
    counter!(RETRIES, labels.clone()).increment(1);
    histogram!(DELAY, labels).record(delay.as_secs_f64());
}

pub(super) fn hedged(name: Option<&'static str>) {
    counter!(HEDGES, labels(name)).increment(1);
}

pub(super) fn ended(name: Option<&'static str>, done: &Done) {
    let labels = labelled(name, STOP_REASON, done.stop.name());
    counter!(STOPS, labels.clone()).increment(1);
    histogram!(ATTEMPTS, labels).record(done.attempts);
}

fn labels(name: Option<&'static str>) -> Vec<Label> {
    let label = |name| Label::from_static_parts("stagger.destination", name);
    name.map(label).into_iter().collect()
}

fn labelled(name: Option<&'static str>, key: &'static str, value: &'static str) -> Vec<Label> {
    let mut labels = labels(name);
    labels.push(Label::from_static_parts(key, value));
    labels
}

/// A level as a gauge has it.
fn float(level: u64) -> f64 {
    if level == u64::MAX {
        return f64::INFINITY;
    }
    // OK because a level above 2^53 is as good as unlimited to its reader.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people, rounded at 2^53")]
    let level = level as f64;
    level
}
