//! Figures for recorders of `metrics`.

use metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use stagger_core::breaker::StateKind;
use stagger_core::retry::Done;
use stagger_core::{Outcome, Span};

use crate::ledger::LedgerStats;
#[cfg(feature = "redis")]
use crate::ledger::SharedStats;

const RETRIES: &str = "stagger.retries";
const DELAY: &str = "stagger.retry.delay";
const HEDGES: &str = "stagger.hedges";
const STOPS: &str = "stagger.stops";
const ATTEMPTS: &str = "stagger.call.attempts";
const LEVEL: &str = "stagger.budget.level";
const GRANTS: &str = "stagger.budget.grants";
const REFUSALS: &str = "stagger.budget.refusals";
const REFUNDS: &str = "stagger.budget.refunds";
#[cfg(feature = "redis")]
const PERMITS: &str = "stagger.budget.permits";
#[cfg(feature = "redis")]
const LEASED: &str = "stagger.budget.leased";
#[cfg(feature = "redis")]
const LEASE_DENIED: &str = "stagger.budget.lease_denied";
#[cfg(feature = "redis")]
const LOCAL_GRANTED: &str = "stagger.budget.local_granted";
#[cfg(feature = "redis")]
const STORE_UP: &str = "stagger.budget.store_up";
#[cfg(feature = "redis")]
const HEARD: &str = "stagger.breaker.remote_moves";
#[cfg(feature = "redis")]
const PROBES: &str = "stagger.breaker.probes_leased";
const BREAKER_STATE: &str = "stagger.breaker.state";
const BREAKER_REFUSALS: &str = "stagger.breaker.refusals";
const BREAKER_OPENINGS: &str = "stagger.breaker.openings";

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
    #[cfg(feature = "redis")]
    describe_shared();
}

#[cfg(feature = "redis")]
fn describe_shared() {
    describe_gauge!(PERMITS, Unit::Count, "Leased permits that are left");
    describe_counter!(LEASED, Unit::Count, "Permits that the store granted");
    describe_counter!(LEASE_DENIED, Unit::Count, "Permits that the store did not grant");
    describe_counter!(LOCAL_GRANTED, Unit::Count, "Retries granted while the store was away");
    describe_counter!(HEARD, Unit::Count, "Moves of a shared breaker for what others saw");
    describe_counter!(PROBES, Unit::Count, "Probes that the store granted");
    describe_gauge!(STORE_UP, Unit::Count, "1 while the store answers");
}

/// Reports the figures of a ledger under the name of its destination. Nothing counts them in
/// between, so call it before each scrape, or every few seconds.
///
/// An unlimited budget has the level infinity. Without a breaker, nothing is said of one.
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
    let Some(state) = stats.breaker else { return };
    for (kind, label) in STATES {
        let labels = labelled(name, BREAKER_STATE, label);
        gauge!(BREAKER_STATE, labels).set(if kind == state { 1.0 } else { 0.0 });
    }
    counter!(BREAKER_REFUSALS, labels(name)).absolute(stats.breaker_refusals);
    counter!(BREAKER_OPENINGS, labels(name)).absolute(stats.breaker_opened);
}

/// Reports the figures of a shared ledger, those of [`report_ledger`] included.
#[cfg(feature = "redis")]
pub fn report_shared(destination: &'static str, stats: &SharedStats) {
    report_ledger(destination, &stats.ledger);
    let name = Some(destination);
    gauge!(PERMITS, labels(name)).set(float(stats.permits));
    counter!(LEASED, labels(name)).absolute(stats.leased);
    counter!(LEASE_DENIED, labels(name)).absolute(stats.lease_denied);
    counter!(LOCAL_GRANTED, labels(name)).absolute(stats.local_granted);
    counter!(HEARD, labels(name)).absolute(stats.breaker_remote_moves);
    counter!(PROBES, labels(name)).absolute(stats.probes_leased);
    gauge!(STORE_UP, labels(name)).set(if stats.store_down { 0.0 } else { 1.0 });
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
