//! A cache at work: the share of keys that it holds, what fills it, and what empties it.

use stagger_core::{Entropy, Instant, Ratio, Span};

use crate::dist::open_unit;
use crate::plan::{Cache, Fault, Trouble};
use crate::streams::{Purpose, RandomStream};

/// The cache of one shard.
#[derive(Clone, Debug)]
pub(super) struct CacheState {
    /// Keys that it holds, in the mean.
    held: f64,
    /// The time up to which entries have expired.
    at: Instant,
    /// Losses to come: an instant, and the share of entries that is lost then.
    losses: Vec<(Instant, Ratio)>,
    draws: RandomStream,
}

impl CacheState {
    /// A full cache.
    pub(super) fn new(rule: &Cache, shard: u32, faults: &[Fault], seed: u64) -> Self {
        let own = faults.iter().filter(|fault| fault.shard.is_none_or(|it| it == shard));
        let mut losses: Vec<(Instant, Ratio)> = own.filter_map(loss).collect();
        losses.sort_unstable_by_key(|loss| std::cmp::Reverse(loss.0));
        let draws = RandomStream::new(seed, Purpose::Cache);
        Self { held: f64::from(rule.keys), at: Instant::ORIGIN, losses, draws }
    }

    /// Whether an attempt that starts now misses.
    pub(super) fn misses(&mut self, rule: &Cache, now: Instant, id: u32, number: u32) -> bool {
        self.advance(rule, now);
        let drawn = open_unit(self.draws.at(id, number).next_u64());
        drawn * f64::from(rule.keys) >= self.held
    }

    /// A miss puts its key in.
    pub(super) fn fill(&mut self, rule: &Cache, now: Instant) {
        self.advance(rule, now);
        self.held = (self.held + 1.0).min(f64::from(rule.keys));
    }

    /// All of it is lost.
    pub(super) const fn clear(&mut self) {
        self.held = 0.0;
    }

    fn advance(&mut self, rule: &Cache, now: Instant) {
        while let Some(&(_, share)) = self.losses.last().filter(|loss| loss.0 <= now) {
            self.held *= 1.0 - share.as_f64();
            self.losses.pop();
        }
        if let Some(lifetime) = rule.lifetime.filter(|_| now > self.at) {
            let age = seconds(now - self.at) / seconds(lifetime);
            self.held *= libm::exp(-age);
        }
        self.at = now;
    }
}

/// The loss of entries that a fault brings.
fn loss(fault: &Fault) -> Option<(Instant, Ratio)> {
    match fault.trouble {
        Trouble::Flush(share) => Some((fault.from, share)),
        Trouble::PortClosed => Some((fault.until, Ratio::ONE)),
        _ => None,
    }
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}
