//! Autoscaling at work: the load of the last stretch, and the workers that are on their way.

use std::collections::VecDeque;

use stagger_core::{Instant, Ratio, Span};

use crate::plan::Autoscaling;

/// The workers of one shard beyond those that it always has.
#[derive(Clone, Debug, Default)]
pub(super) struct Scaler {
    /// Workers that are there.
    extra: u32,
    /// Workers that were ordered, by the time at which they are there.
    ordered: VecDeque<(Instant, u32)>,
    /// The start of the stretch whose load is measured.
    since: Instant,
    /// The time that workers were busy in it, and the time that they had, in nanoseconds up to `noted`.
    busy: u128,
    had: u128,
    noted: Instant,
}

impl Scaler {
    /// Workers beyond those that are always there.
    pub(super) const fn extra(&self) -> u32 {
        self.extra
    }

    /// So many of these workers were busy until now.
    pub(super) fn note(&mut self, now: Instant, busy: u32, workers: u32) {
        let length = u128::from((now - self.noted).as_nanos());
        self.busy += length * u128::from(busy);
        self.had += length * u128::from(workers);
        self.noted = now;
    }

    /// Ordered workers arrive.
    pub(super) fn arrive(&mut self, now: Instant) {
        while let Some(&(at, workers)) = self.ordered.front() {
            if at > now {
                return;
            }
            self.extra += workers;
            self.ordered.pop_front();
        }
    }

    /// Looks at the load if it is time to, and returns when more workers will be there.
    pub(super) fn look(&mut self, rule: &Autoscaling, now: Instant, base: u32) -> Option<Instant> {
        let length = now - self.since;
        if length < rule.every || length == Span::ZERO {
            return None;
        }
        let ppm = self.busy * u128::from(Ratio::SCALE) / self.had.max(1);
        (self.busy, self.had, self.since) = (0, 0, now);
        if ppm < u128::from(rule.below.ppm()) {
            let looks = length.as_nanos() / rule.every.as_nanos().max(1);
            let looks = u32::try_from(looks).unwrap_or(u32::MAX);
            self.extra = self.extra.saturating_sub(rule.step.saturating_mul(looks));
        }
        if ppm <= u128::from(rule.above.ppm()) {
            return None;
        }
        self.order(rule, now, base)
    }

    fn order(&mut self, rule: &Autoscaling, now: Instant, base: u32) -> Option<Instant> {
        let coming: u32 = self.ordered.iter().map(|order| order.1).sum();
        let room = rule.most.saturating_sub(base + self.extra + coming);
        let workers = rule.step.min(room);
        let at = now + rule.delay;
        (workers > 0).then(|| {
            self.ordered.push_back((at, workers));
            at
        })
    }
}
