//! All trouble in a log, and how much of it counts.

use stagger_core::{Ratio, Span};

use crate::cells::Cells;
use crate::failing::OutageRule;
use crate::outage::InferredOutage;
use crate::{failing, outage, sustained};

/// The bounds from which on a stretch of a log is an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageThresholds {
    /// Points above the usual failing share at which an outage begins, in a bucket of some 20 attempts.
    pub share: Ratio,
    /// The same for what lasts: in two buckets in a row of 200 attempts and 5 s at least.
    pub sustained: Ratio,
    /// The times that attempts must take as long as usual, for three seconds at least.
    pub slow: Ratio,
    /// The length of a stretch without a line.
    pub hole: Span,
}

impl Default for OutageThresholds {
    /// 30 points, 10 points, 4 times, 10 s.
    fn default() -> Self {
        Self {
            share: Ratio::from_percent(30),
            sustained: Ratio::from_percent(10),
            slow: Ratio::from_percent(400),
            hole: Span::from_secs(10),
        }
    }
}

impl OutageThresholds {
    /// The rule of failures for this log, whose stamps are `grain` apart.
    pub(crate) fn rule(&self, cells: &Cells, grain: Span) -> OutageRule {
        OutageRule::new(cells, grain, self.share)
    }

    /// All trouble in order of time: stretches that failed, and between them those of which a small
    /// share failed, slow ones, and those without a line.
    pub(crate) fn find(&self, cells: &Cells, grain: Span) -> Vec<InferredOutage> {
        let mut all = failing::find(cells, &self.rule(cells, grain), grain);
        let others = [
            sustained::find(cells, self.sustained),
            outage::find(cells, self.slow),
            sustained::holes(cells, self.hole),
        ];
        for others in others {
            let is_apart = |own: &InferredOutage| {
                all.iter().all(|other| own.until <= other.from || other.until <= own.from)
            };
            let apart: Vec<InferredOutage> = others.into_iter().filter(is_apart).collect();
            all.extend(apart);
        }
        all.sort_unstable_by_key(|outage| outage.from);
        all
    }
}
