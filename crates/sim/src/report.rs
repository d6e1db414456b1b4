//! What a storm came to, as plain data: rendering it is the business of the command line.

use stagger_core::Span;

use crate::law::{Law, Schedule};
use crate::meter::PER_SECOND;
use crate::stat::Stat;
use crate::tally::Tally;

/// The figures of one scenario, one row a law and case.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The seed: the same one gives the same report, on every machine and with any threads.
    pub seed: u64,
    /// Runs behind every mean.
    pub runs: u32,
    /// What all laws share.
    pub schedule: Schedule,
    /// The rows, cases in order and laws in order within a case.
    pub rows: Vec<Row>,
}

/// One law in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The law.
    pub law: Law,
    /// Spacing of arrivals or length of the outage, where the scenario varies it.
    pub case: Span,
    /// Peak of what the scenario counts, in events a second.
    pub peak: Stat,
    /// Peak of retries before the server is up, in events a second; only `lockstep` counts it.
    pub peak_before: Stat,
    /// Attempts a call.
    pub amplification: f64,
    /// The share of calls that ended in success, from 0 to 1.
    pub success: f64,
    /// Attempts a bucket of 50 ms from the origin, as means over the runs; at most 51 s of them.
    pub arrivals: Vec<f64>,
    /// Digests of all runs, added up.
    pub digest: u64,
}

/// Whose peak a scenario reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peak {
    Attempts,
    Served,
}

impl Row {
    pub(crate) fn new(law: Law, case: Span, tally: &Tally, peak: Peak) -> Self {
        let counted = match peak {
            Peak::Attempts => &tally.peak_attempts,
            Peak::Served => &tally.peak_served,
        };
        Self {
            law,
            case,
            peak: counted.scaled(PER_SECOND),
            peak_before: tally.peak_retries.scaled(PER_SECOND),
            amplification: tally.amplification(),
            success: tally.success(),
            arrivals: tally.mean_buckets(),
            digest: tally.digest(),
        }
    }
}

impl Report {
    /// How many times the peak of the un-jittered exponential row this row's is, in the same case.
    ///
    /// `None` when that row is not there or has no peak.
    #[must_use]
    pub fn times_unjittered(&self, row: &Row) -> Option<f64> {
        let same = |other: &&Row| other.law == Law::None && other.case == row.case;
        let none = self.rows.iter().find(same)?;
        (none.peak.mean > 0.0).then(|| row.peak.mean / none.peak.mean)
    }
}
