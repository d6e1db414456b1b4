//! The results of one run.

use stagger_core::Span;

use crate::plan::RecoveryState;
use crate::probe::{Latency, MeterCounts, Strip};

/// The figures of one run; all of them whole numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Calls made by the outermost callers.
    pub calls: u64,
    /// Attempts of bystanders, who are in no other figure but the counts.
    pub bystanding: u64,
    /// Calls that ended in success.
    pub succeeded: u64,
    /// Attempts that reached the backend, first ones included.
    pub attempts: MeterCounts,
    /// Retries and further copies among them.
    pub retries: MeterCounts,
    /// Successes, by the time they reached the caller.
    pub served: MeterCounts,
    /// Attempts that the backend finished after their callers had gone.
    pub wasted: MeterCounts,
    /// Attempts that the backend finished, wasted ones included.
    pub finished: u64,
    /// Levels over time.
    pub series: Series,
    /// The latency of the calls that succeeded.
    pub latency: Latency,
    /// Whether and when the run recovered.
    pub recovery: RecoveryState,
    /// Single instants of attempts.
    pub strip: Strip,
    /// The time of the last event, counted from the origin.
    pub length: Span,
    /// Events in all.
    pub events: u64,
    /// A checksum over all events in their order: equal runs have equal digests.
    pub digest: u64,
}

/// Levels at the end of each bucket of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Attempts that wait in queues, and callers that wait to retry.
    pub levels: Vec<(u64, u64)>,
    /// The most attempts that ever waited at once.
    pub queued_most: u64,
}
