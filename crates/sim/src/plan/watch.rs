//! What is looked at in a run.

use stagger_core::{Instant, Ratio, Span};

use crate::probe::Stretch;

/// Where peaks are looked for and what counts as recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// An instant on which a bucket edge lies; recovery is counted from it.
    pub edge: Instant,
    /// Where the peak of attempts is looked for.
    pub attempts_in: Stretch,
    /// Where the peak of retries is looked for.
    pub retries_in: Stretch,
    /// When the run has recovered.
    pub recovery: Recovery,
}

/// When a run has recovered, counted from the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// When the last call is served; never when none is from the edge on.
    Drained,
    /// At the start of the first bucket of arrivals from which on so many buckets in a row have
    /// this share of first attempts succeed, if that is within some time.
    FirstTries {
        /// The width of a bucket.
        bucket: Span,
        /// How many in a row.
        row: u32,
        /// The share of first attempts.
        share: Ratio,
        /// Later than this is never.
        within: Span,
    },
}

impl Recovery {
    /// The rule of the reference tables: 10 buckets of 0.5 s with 99 % within 70 s.
    #[must_use]
    pub fn first_tries() -> Self {
        Self::FirstTries {
            bucket: Span::from_millis(500),
            row: 10,
            share: Ratio::from_percent(99),
            within: Span::from_secs(70),
        }
    }
}

impl Watch {
    /// Around the end of an outage: recovery is counted from it, attempts peak from it on, and
    /// retries before it.
    #[must_use]
    pub const fn around(end: Instant) -> Self {
        Self {
            edge: end,
            attempts_in: Stretch { from: end, until: Instant::FAR },
            retries_in: Stretch { from: Instant::ORIGIN, until: end },
            recovery: Recovery::Drained,
        }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            edge: Instant::ORIGIN,
            attempts_in: Stretch::ALWAYS,
            retries_in: Stretch::ALWAYS,
            recovery: Recovery::Drained,
        }
    }
}
