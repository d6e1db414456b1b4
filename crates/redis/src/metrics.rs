//! The figures of a shared ledger for recorders of `metrics` (feature `metrics`).

use metrics::{Label, Unit, counter, describe_counter, describe_gauge, gauge};

use crate::stats::SharedStats;

const PERMITS: &str = "stagger.budget.permits";
const LEASED: &str = "stagger.budget.leased";
const LEASE_DENIED: &str = "stagger.budget.lease_denied";
const LOCAL_GRANTED: &str = "stagger.budget.local_granted";
const STORE_UP: &str = "stagger.budget.store_up";
const REMOTE_MOVES: &str = "stagger.breaker.remote_moves";
const PROBES_LEASED: &str = "stagger.breaker.probes_leased";

/// Describes each metric of shared ledgers and its unit to the recorder, besides those of
/// [`describe_metrics`](stagger::observe::describe_metrics).
pub fn describe_shared() {
    describe_gauge!(PERMITS, Unit::Count, "Leased permits that are left");
    describe_counter!(LEASED, Unit::Count, "Permits that the store granted");
    describe_counter!(LEASE_DENIED, Unit::Count, "Permits that the store did not grant");
    describe_counter!(LOCAL_GRANTED, Unit::Count, "Retries granted while the store was away");
    describe_counter!(REMOTE_MOVES, Unit::Count, "Moves of a shared breaker for what others saw");
    describe_counter!(PROBES_LEASED, Unit::Count, "Probes that the store granted");
    describe_gauge!(STORE_UP, Unit::Count, "1 while the store answers");
}

/// Reports the figures of a shared ledger under the name of its destination, those of
/// [`report_ledger`](stagger::observe::report_ledger) included. Call it before each scrape, or every few
/// seconds.
pub fn report_shared(destination: &'static str, stats: &SharedStats) {
    stagger::observe::report_ledger(destination, &stats.ledger);
    let labels = || vec![Label::from_static_parts("stagger.destination", destination)];
    // OK because no process holds 2^53 permits.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    gauge!(PERMITS, labels()).set(stats.permits as f64);
    counter!(LEASED, labels()).absolute(stats.leased);
    counter!(LEASE_DENIED, labels()).absolute(stats.lease_denied);
    counter!(LOCAL_GRANTED, labels()).absolute(stats.local_granted);
    counter!(REMOTE_MOVES, labels()).absolute(stats.breaker_remote_moves);
    counter!(PROBES_LEASED, labels()).absolute(stats.probes_leased);
    gauge!(STORE_UP, labels()).set(if stats.store_down { 0.0 } else { 1.0 });
}
