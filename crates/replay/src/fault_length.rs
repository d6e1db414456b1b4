//! The length of a fault before a queue: an outage in a log is the fault and the drain after it.
//!
//! With a bounded backend the model makes the drain itself. So the fault is the part of the outage, from its
//! start on, with which the observed callers in the model come to the success that was observed. Where the
//! retries keep a backend down that is well again, faults of very different lengths do.

use stagger_core::Ratio;
use stagger_sim::{CallerLayer, Played, Simulation};

use crate::excerpt::Excerpt;

/// Shares of success that are the same.
const SAME: f64 = 0.02;
/// Halvings of the length: to a thousandth of the outage.
const HALVINGS: u32 = 10;
/// The seed of the runs that look for it; any would do.
const SEED: u64 = 1;

/// The shortest and the longest fault that explain the log, as parts of each outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultLength {
    pub(crate) least: Ratio,
    pub(crate) most: Ratio,
}

impl FaultLength {
    /// The lengths with which these callers reach the success that was observed; `None` if none does.
    pub(crate) fn fit(excerpt: &Excerpt<'_>, caller: &CallerLayer, observed: f64) -> Option<Self> {
        let at = |fault: Ratio| success(&excerpt.with_fault(fault), caller);
        // Success falls with the length.
        let least = first(|fault| at(fault) <= observed + SAME)?;
        let most = match at(Ratio::ONE) >= observed - SAME {
            true => Ratio::ONE,
            false => before(first(|fault| at(fault) < observed - SAME)?),
        };
        (least <= most).then_some(Self { least, most })
    }

    /// The middle of both.
    pub(crate) const fn middle(self) -> Ratio {
        Ratio::from_ppm(self.least.ppm().midpoint(self.most.ppm()))
    }
}

/// The share of calls that succeed.
pub(crate) fn success(excerpt: &Excerpt<'_>, caller: &CallerLayer) -> f64 {
    let played = play(excerpt, caller);
    ratio(played.succeeded, played.calls)
}

/// One run of these callers.
pub(crate) fn play(excerpt: &Excerpt<'_>, caller: &CallerLayer) -> Played {
    Simulation::new().play(&excerpt.plan(caller.clone()), SEED)
}

/// `part / whole`, and 0 without a whole.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 calls")]
pub(crate) const fn ratio(part: u64, whole: u64) -> f64 {
    // OK because no run has 2^53 calls.
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The shortest length for which this holds, if it holds for the whole outage.
fn first(holds: impl Fn(Ratio) -> bool) -> Option<Ratio> {
    if !holds(Ratio::ONE) {
        return None;
    }
    let (mut low, mut high) = (0, Ratio::SCALE);
    for _ in 0..HALVINGS {
        let middle = u32::midpoint(low, high);
        if holds(Ratio::from_ppm(middle)) { high = middle } else { low = middle }
    }
    Some(Ratio::from_ppm(high))
}

/// The length a step below.
const fn before(length: Ratio) -> Ratio {
    Ratio::from_ppm(length.ppm().saturating_sub(Ratio::SCALE >> HALVINGS))
}
