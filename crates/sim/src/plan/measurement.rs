//! The measurements of a run.

use stagger_core::{Instant, Ratio, Span};

/// The stretches in which peaks are looked for, and the rule of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementPlan {
    /// An instant on which a bucket edge lies; recovery is counted from it.
    pub edge: Instant,
    /// The start of the stretch in which peaks of attempts and successes are looked for; the edge when
    /// `None`.
    pub peak_from: Option<Instant>,
    /// The stretch in which the peak of retries is looked for.
    pub retries_in: Stretch,
    /// The stretch in which the worst second of retries is compared with the mean second; none when `None`.
    pub evenness_in: Option<Stretch>,
    /// The rule by which the run has recovered.
    pub recovery: Recovery,
}

/// A rule by which a run has recovered, counted from the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// By the last call that is served, if 99 % of the calls that are not over at the edge succeed.
    ///
    /// Calls that give up after the edge count against it: a server that drains because its callers
    /// left has not recovered.
    Drained,
    /// By first attempts that succeed again.
    FirstTries(FirstTriesRule),
}

/// The share of first attempts that must succeed, and for how long.
///
/// A run has recovered at the start of the first row of good buckets, if that is within some time and
/// lasts: a run relapses when half of the buckets in a later row are below the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstTriesRule {
    /// The width of a bucket of arrivals; a bucket with fewer than 20 first attempts is widened by
    /// those after it.
    pub bucket: Span,
    /// Good buckets in a row.
    pub row: u32,
    /// The share of first attempts that succeed in a good bucket.
    pub share: Ratio,
    /// The latest recovery that counts.
    pub within: Span,
}

/// The verdict on the recovery of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryState {
    /// The run recovered this long after the edge, and stayed so.
    Recovered(Span),
    /// The run seemed to recover this long after the edge, failed again, and did not come back.
    Relapsed(Span),
    /// The calls ended before a verdict was possible.
    NotWithinWatch,
    /// The trouble lasts for the whole run, so that there is no recovery to time.
    TroubleLasts,
    /// The run did not recover.
    #[default]
    Never,
}

impl RecoveryState {
    /// The time to recover, counted from the edge; `None` for a run that did not recover for good.
    #[must_use]
    pub const fn recovered(self) -> Option<Span> {
        match self {
            Self::Recovered(after) => Some(after),
            Self::Relapsed(_) | Self::NotWithinWatch | Self::TroubleLasts | Self::Never => None,
        }
    }
}

impl Recovery {
    /// The share of calls that must succeed for a drained run to count as recovered.
    pub const DRAINED_SHARE: Ratio = Ratio::from_percent(99);

    /// The rule of the reference tables: 10 buckets of 0.5 s with 99 % within 70 s.
    #[must_use]
    pub fn first_tries() -> Self {
        Self::FirstTries(FirstTriesRule {
            bucket: Span::from_millis(500),
            row: 10,
            share: Ratio::from_percent(99),
            within: Span::from_secs(70),
        })
    }
}

impl MeasurementPlan {
    /// The stretch in which peaks of attempts and successes are looked for.
    #[must_use]
    pub fn peak_in(&self) -> Stretch {
        Stretch { from: self.peak_from.unwrap_or(self.edge), until: Instant::FAR }
    }

    /// Around the end of an outage: recovery is counted from it, attempts peak from it on, and
    /// retries before it.
    #[must_use]
    pub const fn around(end: Instant) -> Self {
        Self {
            edge: end,
            peak_from: None,
            retries_in: Stretch { from: Instant::ORIGIN, until: end },
            evenness_in: None,
            recovery: Recovery::Drained,
        }
    }
}

impl Default for MeasurementPlan {
    fn default() -> Self {
        Self {
            edge: Instant::ORIGIN,
            peak_from: None,
            retries_in: Stretch::ALWAYS,
            evenness_in: None,
            recovery: Recovery::Drained,
        }
    }
}

/// The half-open stretch of time in which a peak is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first instant that counts.
    pub from: Instant,
    /// The first instant that counts no longer.
    pub until: Instant,
}

impl Stretch {
    /// All of time.
    pub const ALWAYS: Self = Self { from: Instant::ORIGIN, until: Instant::FAR };
}
