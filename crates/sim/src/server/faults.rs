//! The troubles of a plan, asked for one shard at one instant.

use stagger_core::{Instant, Ratio, Span};

use crate::plan::{Backend, ColdStart, Fault, Trouble};

/// Whoever asks for the trouble at `now`.
#[derive(Clone, Debug)]
pub(super) struct Faults<'p> {
    all: &'p [Fault],
    cold_start: Option<ColdStart>,
}

impl<'p> Faults<'p> {
    pub(super) const fn new(all: &'p [Fault], backend: &Backend) -> Self {
        Self { all, cold_start: backend.cold_start }
    }

    /// The first trouble that turns an arriving attempt away, or swallows it.
    #[inline]
    pub(super) fn at_the_door(&self, shard: u32, now: Instant) -> Option<&'p Fault> {
        let turns_away = |fault: &&Fault| {
            matches!(
                fault.trouble,
                Trouble::Refuse | Trouble::RefuseFor(_) | Trouble::Hang | Trouble::Silence
            )
        };
        self.all.iter().filter(turns_away).find(|fault| fault.holds(shard, now))
    }

    /// Whether no attempt is started.
    #[inline]
    pub(super) fn stalled(&self, shard: u32, now: Instant) -> bool {
        let stalls = |fault: &Fault| fault.trouble == Trouble::Stall && fault.holds(shard, now);
        self.all.iter().any(stalls)
    }

    /// When an attempt that arrives at `now` could be started at last; `None` for never.
    #[inline]
    pub(super) fn end_of_stall(&self, shard: u32, now: Instant) -> Option<Instant> {
        let mut start = now;
        let stalls = |fault: &&Fault, at| fault.trouble == Trouble::Stall && fault.holds(shard, at);
        // Each turn ends one stall, and a stall that has ended holds no more.
        while let Some(fault) = self.all.iter().find(|fault| stalls(fault, start)) {
            start = fault.until;
        }
        (start != Instant::FAR).then_some(start)
    }

    /// The probability that an attempt fails.
    #[inline]
    pub(super) fn failing(&self, shard: u32, now: Instant) -> Ratio {
        let share = |fault: &Fault| match fault.trouble {
            Trouble::Failing(share) if fault.holds(shard, now) => Some(share),
            _ => None,
        };
        self.all.iter().find_map(share).unwrap_or(Ratio::ZERO)
    }

    /// How long work of this usual length takes when it starts now.
    #[inline]
    pub(super) fn stretched(&self, usual: Span, shard: u32, now: Instant) -> Span {
        let slow = |fault: &Fault| match fault.trouble {
            Trouble::Slow(factor) if fault.holds(shard, now) => Some(factor),
            _ => None,
        };
        let slowed = self.all.iter().find_map(slow).map_or(usual, |factor| factor.of_span(usual));
        match self.cold_start {
            Some(cold) => warming(slowed, cold, now - self.came_up(shard, now)),
            None => slowed,
        }
    }

    /// The ends of all stalls: when work starts again.
    pub(super) fn ends_of_stalls(&self) -> impl Iterator<Item = Instant> + 'p {
        let stalls = self.all.iter().filter(|fault| fault.trouble == Trouble::Stall);
        stalls.map(|fault| fault.until).filter(|&until| until != Instant::FAR)
    }

    fn came_up(&self, shard: u32, now: Instant) -> Instant {
        let outages = self.all.iter().filter(|fault| {
            !matches!(fault.trouble, Trouble::Failing(_) | Trouble::Slow(_))
                && fault.until <= now
                && fault.shard.is_none_or(|own| own == shard)
        });
        outages.map(|fault| fault.until).max().unwrap_or(Instant::ORIGIN)
    }
}

/// The extra time shrinks evenly from `factor - 1` to nothing.
fn warming(usual: Span, cold: ColdStart, up_for: Span) -> Span {
    if up_for >= cold.over {
        return usual;
    }
    let extra = cold.factor.of_span(usual) - usual;
    let left = u128::from((cold.over - up_for).as_nanos());
    let extra = u128::from(extra.as_nanos()) * left / u128::from(cold.over.as_nanos());
    usual + Span::from_nanos(u64::try_from(extra).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_backend_warms_evenly() {
        let cold = ColdStart { factor: Ratio::from_percent(300), over: Span::from_secs(10) };
        let work = |s| warming(Span::from_millis(10), cold, Span::from_secs(s));
        assert_eq!(work(0), Span::from_millis(30));
        assert_eq!(work(5), Span::from_millis(20));
        assert_eq!(work(10), Span::from_millis(10));
    }
}
