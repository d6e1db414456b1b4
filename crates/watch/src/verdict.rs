//! Verdicts: what is said of a storm, with the window and the figures behind it.

use stagger_replay::Stamp;

use crate::budget_advice::BudgetAdvice;
use crate::layers::LayerFactors;
use crate::retry_estimate::RetryEstimate;
use crate::synchrony::Synchrony;
use crate::top_sources::TopSource;

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A storm is on.
    Began(Box<StormVerdict>),
    /// It goes on; once a window.
    Continues(Box<StormVerdict>),
    /// It is over.
    Ended(StormSummary),
}

/// The figures of one window.
#[derive(Clone, Debug, PartialEq)]
pub struct StormVerdict {
    /// The end of the window, by the stamps of the log.
    pub until: Stamp,
    /// The length of the window in seconds.
    pub seconds: u32,
    /// Attempts and calls in the window.
    pub estimate: RetryEstimate,
    /// The share of lines whose attempts failed, from 0 to 1; `None` where failures are not counted.
    pub failing: Option<f64>,
    /// One caller in how many was followed, because there were too many to follow all.
    pub one_in: u64,
    /// The layers that multiply.
    pub layers: LayerFactors,
    /// Peaks of arrivals; `None` when stamps are too coarse or arrivals too few.
    pub synchrony: Option<Synchrony>,
    /// The clients with most retries.
    pub clients: Vec<TopSource>,
    /// The routes with most retries.
    pub routes: Vec<TopSource>,
    /// The budget that would have held it; `None` where nothing says what the server can serve.
    pub budget: Option<BudgetAdvice>,
}

/// A storm that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormSummary {
    /// The end of the window in which it was first seen.
    pub began: Stamp,
    /// The end of the last window above the threshold.
    pub ended: Stamp,
    /// The most attempts a call in any window.
    pub worst: f64,
}
