//! The layers that multiply attempts, as far as the log tells.

use crate::window_counts::SecondCounts;

/// The factor of each layer of callers: how many attempts it makes of one call of its own.
///
/// A layer that the log does not tell is `None`: that is no claim that it makes no retries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerFactors {
    /// The proxy that wrote the log, by the attempts behind its lines.
    pub proxy: Option<f64>,
    /// The callers that called the writer of the log, by the number of the attempt.
    pub callers: Option<f64>,
    /// The layers further out: calls that begin again with number 1 under the same id.
    pub further_out: Option<f64>,
}

/// From this factor on a layer multiplies.
const MULTIPLIES: f64 = 1.2;

impl LayerFactors {
    pub(crate) fn new(window: &SecondCounts) -> Self {
        let numbered = 2.0 * window.numbered > window.lines && window.first > 0.0;
        let followed = numbered && window.first_followed > 0.0;
        let new = window.first_followed - window.first_again;
        Self {
            proxy: (window.behind > 0.0).then(|| window.attempts() / window.lines),
            callers: numbered.then(|| window.numbered / window.first),
            further_out: followed.then(|| window.first_followed / new.max(1.0)),
        }
    }

    /// The names of the layers that multiply, with their factors, from the outside in.
    #[must_use]
    pub fn multiplying(&self) -> Vec<(&'static str, f64)> {
        let all =
            [("further out", self.further_out), ("callers", self.callers), ("proxy", self.proxy)];
        let known = all.into_iter().filter_map(|(name, factor)| Some((name, factor?)));
        known.filter(|(_, factor)| *factor >= MULTIPLIES).collect()
    }

    /// Whether the log tells nothing of any layer.
    #[must_use]
    pub const fn are_unknown(&self) -> bool {
        self.proxy.is_none() && self.callers.is_none() && self.further_out.is_none()
    }
}
