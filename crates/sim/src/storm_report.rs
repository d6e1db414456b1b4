//! The results of a storm, as plain data: rendering it is the business of the command line.

use stagger_core::{Instant, Span};

use crate::plan::Stretch;
use crate::probe::{BUCKET, Strip};
use crate::scenario::Peak;
use crate::stat::{Stat, share};

/// Buckets of a series in a second.
const BUCKETS_A_SECOND: usize = 20;

/// The figures of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct StormReport {
    /// The scenario's name.
    pub name: String,
    /// The events of the scenario, in one sentence.
    pub about: String,
    /// The lesson of the scenario.
    pub lesson: String,
    /// The seed: the same one gives the same report, on every machine and with any threads.
    pub seed: u64,
    /// Runs behind every mean, unless a row says that it had fewer.
    pub runs: u32,
    /// The quantity that differs between cases.
    pub varied: Option<String>,
    /// The events whose peak the rows have.
    pub peak: Peak,
    /// The settings that every row shares.
    pub parameters: Vec<(String, String)>,
    /// The cases, in order.
    pub cases: Vec<CaseReport>,
}

/// The figures of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseReport {
    /// The case's name.
    pub label: String,
    /// Its place on an axis.
    pub value: f64,
    /// Stretches of trouble.
    pub outages: Vec<(Instant, Instant)>,
    /// The backend's capacity, in attempts a second.
    pub capacity: Option<f64>,
    /// One row an entry.
    pub rows: Vec<EntryReport>,
}

/// One entry in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryReport {
    /// The entry's name.
    pub name: String,
    /// Runs behind the figures.
    pub runs: u64,
    /// Calls a run.
    pub calls: f64,
    /// Attempts that reached the backend, a run.
    pub attempts: Stat,
    /// Peak of what the scenario counts, in events a second.
    pub peak: Stat,
    /// Peak of retries where the plan looks for it, in events a second.
    pub peak_retries: Stat,
    /// The worst second of retries over the mean second, where the plan looks for it.
    pub worst_over_mean: Option<f64>,
    /// Attempts a call.
    pub amplification: f64,
    /// The share of calls that ended in success, from 0 to 1.
    pub success: f64,
    /// The share of finished work whose callers had gone, from 0 to 1.
    pub wasted: f64,
    /// The recovery of the runs.
    pub recovery: Healing,
    /// Latency of the calls that succeeded: median, 95 % and 99 %.
    pub latency: [Option<Span>; 3],
    /// The most attempts that ever waited at once in a run.
    pub queued_most: Stat,
    /// Means over the runs for each bucket of 50 ms.
    pub series: EntrySeries,
    /// Single attempts of the first run.
    pub strip: Strip,
    /// Events of all runs.
    pub events: u64,
    /// Digests of all runs, added up.
    pub digest: u64,
}

/// The recovery of the runs of one entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Healing {
    /// Runs that did.
    pub healed: u64,
    /// The time to recover, in seconds; of those that did.
    pub seconds: Stat,
    /// Runs that seemed to recover and failed again for good.
    pub relapsed: u64,
    /// Runs whose calls ended before a verdict was possible.
    pub not_within_watch: u64,
    /// Runs whose trouble lasted to their end.
    pub trouble_lasts: u64,
}

/// The verdict on the runs of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryVerdict {
    /// Every run recovered.
    Recovered,
    /// Some runs recovered.
    Partly,
    /// No run recovered, and at least half of them seemed to before they failed again.
    Relapsed,
    /// No run recovered, and for at least half of them the calls ended before a verdict was possible.
    NotWithinWatch,
    /// The trouble lasted to the end of every run, so that there is no recovery to time.
    TroubleLasts,
    /// No run recovered.
    Never,
}

impl RecoveryVerdict {
    /// The verdict as people read it in a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotWithinWatch => "not within the watch",
            Self::TroubleLasts => "trouble lasts",
            _ => self.word(),
        }
    }

    /// The verdict as one word for programs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Partly => "partly",
            Self::Relapsed => "relapsed",
            Self::NotWithinWatch => "not-within-watch",
            Self::TroubleLasts => "trouble-lasts",
            Self::Never => "never",
        }
    }
}

/// Means over the runs for each bucket of time from the origin on; at most 205 s of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntrySeries {
    /// Attempts that reached the backend.
    pub offered: Vec<f64>,
    /// The fewest and the most of them in any run.
    pub offered_range: Vec<(u64, u64)>,
    /// Retries and copies among them.
    pub retries: Vec<f64>,
    /// Calls served, when their callers had the answer.
    pub served: Vec<f64>,
    /// Attempts finished after their callers had gone.
    pub wasted: Vec<f64>,
    /// Attempts that wait in queues at the end of the bucket.
    pub queued: Vec<f64>,
    /// Callers that wait for their next attempt at the end of the bucket.
    pub retrying: Vec<f64>,
}

impl EntryReport {
    /// The verdict on recovery that tables, pages and programs are given.
    #[must_use]
    pub const fn verdict(&self) -> RecoveryVerdict {
        let Healing { healed, relapsed, not_within_watch, trouble_lasts, .. } = self.recovery;
        match healed {
            0 if trouble_lasts > 0 => RecoveryVerdict::TroubleLasts,
            0 if relapsed > 0 && relapsed * 2 >= self.runs => RecoveryVerdict::Relapsed,
            0 if not_within_watch > 0 && not_within_watch * 2 >= self.runs => {
                RecoveryVerdict::NotWithinWatch
            }
            0 => RecoveryVerdict::Never,
            _ if healed < self.runs => RecoveryVerdict::Partly,
            _ => RecoveryVerdict::Recovered,
        }
    }
}

impl EntrySeries {
    /// The worst second of retries over the mean second of a stretch, by the means over the runs;
    /// `None` without a whole second or without retries.
    #[must_use]
    pub fn worst_over_mean(&self, stretch: Stretch) -> Option<f64> {
        let bucket = |at: Instant| usize::try_from(at.as_nanos() / BUCKET.as_nanos());
        let from = bucket(stretch.from).ok()?;
        let until = bucket(stretch.until).unwrap_or(usize::MAX).min(self.retries.len());
        let seconds = self.retries.get(from..until)?.chunks_exact(BUCKETS_A_SECOND);
        let seconds: Vec<f64> = seconds.map(|second| second.iter().sum()).collect();
        let (sum, worst) = seconds
            .iter()
            .fold((0.0, 0.0_f64), |(sum, worst), &second| (sum + second, worst.max(second)));
        (sum > 0.0).then(|| worst * share(seconds.len() as u64, 1) / sum)
    }
}

impl CaseReport {
    /// The peak of this row over that of the un-jittered exponential row.
    ///
    /// `None` when that row is not there or has no peak.
    #[must_use]
    pub fn times_unjittered(&self, row: &EntryReport) -> Option<f64> {
        let none = self.rows.iter().find(|row| row.name == "none")?;
        (none.peak.mean > 0.0).then(|| row.peak.mean / none.peak.mean)
    }
}
