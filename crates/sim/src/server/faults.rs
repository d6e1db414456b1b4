//! The troubles of a plan, asked for one shard at one instant.

use stagger_core::{Instant, Ratio, Span};

use crate::plan::{Backend, ColdStart, Fault, Trouble};

/// The troubles of now, kept by kind until one begins or ends, so that asking is a look at a list
/// that is nearly always empty.
#[derive(Clone, Debug)]
pub(super) struct Faults<'p> {
    all: &'p [Fault],
    cold_start: Option<ColdStart>,
    at_arrival: Vec<&'p Fault>,
    stalls: Vec<&'p Fault>,
    failing: Vec<&'p Fault>,
    slow: Vec<&'p Fault>,
    /// The next instant at which a trouble ends or begins.
    until: Instant,
}

impl<'p> Faults<'p> {
    pub(super) const fn new(all: &'p [Fault], backend: &Backend) -> Self {
        Self {
            all,
            cold_start: backend.cold_start,
            at_arrival: Vec::new(),
            stalls: Vec::new(),
            failing: Vec::new(),
            slow: Vec::new(),
            until: Instant::ORIGIN,
        }
    }

    /// Time goes on; to be told before anything is asked.
    #[inline]
    pub(super) fn now_is(&mut self, now: Instant) {
        if now >= self.until {
            self.select(now);
        }
    }

    /// The first trouble that turns an arriving attempt away, or swallows it.
    #[inline]
    pub(super) fn at_arrival(&self, shard: u32) -> Option<&'p Fault> {
        first(&self.at_arrival, shard)
    }

    /// Whether no attempt is started.
    #[inline]
    pub(super) fn stalled(&self, shard: u32) -> bool {
        first(&self.stalls, shard).is_some()
    }

    /// The instant at which an attempt that arrives at `now` can start; `None` for never.
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
    pub(super) fn failing(&self, shard: u32) -> Ratio {
        match first(&self.failing, shard).map(|fault| fault.trouble) {
            Some(Trouble::Failing(share)) => share,
            _ => Ratio::ZERO,
        }
    }

    /// The time that work of this usual length takes when it starts now, in a server that last restarted
    /// after a crash at `restarted`.
    #[inline]
    pub(super) fn stretched(
        &self,
        usual: Span,
        shard: u32,
        now: Instant,
        restarted: Instant,
    ) -> Span {
        let slowed = match first(&self.slow, shard).map(|fault| fault.trouble) {
            Some(Trouble::Slow(factor)) => factor.of_span(usual),
            _ => usual,
        };
        match self.cold_start {
            Some(cold) => warming(slowed, cold, now - self.came_up(shard, now).max(restarted)),
            None => slowed,
        }
    }

    /// The ends of all stalls: when work starts again.
    pub(super) fn ends_of_stalls(&self) -> impl Iterator<Item = Instant> + 'p {
        let stalls = self.all.iter().filter(|fault| fault.trouble == Trouble::Stall);
        stalls.map(|fault| fault.until).filter(|&until| until != Instant::FAR)
    }

    #[cold]
    fn select(&mut self, now: Instant) {
        let Self { all, at_arrival, stalls, failing, slow, .. } = self;
        for list in [&mut *at_arrival, &mut *stalls, &mut *failing, &mut *slow] {
            list.clear();
        }
        for fault in all.iter().filter(|fault| fault.from <= now && now < fault.until) {
            match fault.trouble {
                Trouble::Stall => stalls.push(fault),
                Trouble::Failing(_) => failing.push(fault),
                Trouble::Slow(_) => slow.push(fault),
                Trouble::Refuse
                | Trouble::RefuseFor(_)
                | Trouble::PortClosed
                | Trouble::Forbid(_)
                | Trouble::Hang
                | Trouble::Silence => at_arrival.push(fault),
                // Caches know their losses from the beginning.
                Trouble::Flush(_) => {}
            }
        }
        let edges = all.iter().flat_map(|fault| [fault.from, fault.until]);
        self.until = edges.filter(|&edge| edge > now).min().unwrap_or(Instant::FAR);
    }

    fn came_up(&self, shard: u32, now: Instant) -> Instant {
        let outages = self.all.iter().filter(|fault| {
            let is_outage = !matches!(
                fault.trouble,
                Trouble::Failing(_) | Trouble::Slow(_) | Trouble::Forbid(_) | Trouble::Flush(_)
            );
            is_outage && fault.until <= now && fault.shard.is_none_or(|own| own == shard)
        });
        outages.map(|fault| fault.until).max().unwrap_or(Instant::ORIGIN)
    }
}

/// The first of these troubles that the shard has.
#[inline]
fn first<'p>(faults: &[&'p Fault], shard: u32) -> Option<&'p Fault> {
    faults.iter().copied().find(|fault| fault.shard.is_none_or(|own| own == shard))
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
