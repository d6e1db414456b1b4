//! One process's ledger, whichever kind it is.

use std::collections::BTreeMap;
use std::task::Waker;

use stagger_core::adaptive::{AdaptiveLimit, AdaptiveReport, Pacing};
use stagger_core::breaker::{Admission, Breaker, Report, Ticket};
use stagger_core::budget::{Charge, IntervalPlan, IntervalState, Paid, Settled};
use stagger_core::hedge::{HedgePlan, Latencies};
use stagger_core::hint::DestinationPause;
use stagger_core::retry::{AttemptLimiter, Entrance, Ledger, LimitPermit, PlainLedger};
use stagger_core::{Entropy, Instant, Policy, Span};

use super::foreign::{DepositBucket, Lifetime, WindowBlock};
use super::leased::Leased;
use crate::streams::{Draw, RandomStream};

/// A ledger with its own source of chance, so that a breaker or a pause takes no word from a delay.
#[derive(Clone, Debug)]
pub(crate) struct ProcessLedger {
    kind: LedgerRule,
    /// The policy's, where the ledger is not the engine's, which has it inside.
    breaker: Option<Box<Breaker>>,
    /// The policy's adaptive limit.
    adaptive: Option<Box<AdaptiveLimit>>,
    /// The policy's concurrency limit and rate limit.
    limiter: Option<Box<AttemptLimiter>>,
    /// Of answers, where hedging goes by them.
    latencies: Option<Box<Latencies>>,
    /// Of the destination, where hints are for all calls to it.
    pause: DestinationPause,
    draws: RandomStream,
    number: u32,
    drawn: u32,
    /// Whether the breaker is given no chance, so that it opens for the shortest time.
    steady: bool,
}

/// Half-life of the latencies behind a measured hedge delay: the executors' own.
const HALF_LIFE: Span = Span::from_secs(30);

/// The kinds of ledger.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "all of one run are the same, and they are few")]
pub(crate) enum LedgerRule {
    /// Grants everything: for policies that neither have a budget nor a breaker.
    Free,
    Engine(PlainLedger),
    Deposit(DepositBucket),
    Lifetime(Lifetime),
    WindowBlock(Box<WindowBlock>),
    Leased(Box<Leased>),
    /// One for all processes.
    Intervals(Intervals),
}

impl ProcessLedger {
    pub(super) const fn new(
        kind: LedgerRule,
        breaker: Option<Box<Breaker>>,
        draws: RandomStream,
        number: u32,
    ) -> Self {
        let pause = DestinationPause::NONE;
        Self {
            kind,
            breaker,
            adaptive: None,
            limiter: None,
            latencies: None,
            pause,
            draws,
            number,
            drawn: 0,
            steady: false,
        }
    }

    /// The same ledger, which measures latencies for `policy` if that hedges by them.
    pub(super) fn measuring(mut self, policy: &Policy) -> Self {
        let measured = policy.hedge().is_some_and(HedgePlan::is_measured);
        self.latencies = measured.then(|| Box::new(Latencies::new(HALF_LIFE)));
        self
    }

    /// The same ledger, with the limits of `policy`.
    pub(super) fn limiting(mut self, policy: &Policy) -> Self {
        self.adaptive = policy.adaptive().map(|plan| Box::new(AdaptiveLimit::new(*plan)));
        self.limiter = AttemptLimiter::new(policy).map(Box::new);
        self
    }

    /// The same ledger, whose breaker always opens for the shortest time, or not.
    pub(super) const fn steady(mut self, yes: bool) -> Self {
        self.steady = yes;
        self
    }

    /// The wait before a second copy, if it is measured.
    #[inline]
    pub(crate) fn hedge_delay(&self, policy: &Policy) -> Option<Span> {
        let seen = self.latencies.as_deref()?;
        policy.hedge().map(|plan| plan.delay(Some(seen)))
    }

    /// An attempt was answered well after so long.
    #[inline]
    pub(crate) fn record_latency(&mut self, now: Instant, latency: Span) {
        if let Some(seen) = &mut self.latencies {
            seen.record(now, latency);
        }
    }

    /// Selects the process that is meant next, if all processes share one ledger.
    #[inline]
    pub(super) const fn turn_to(&mut self, process: u32) {
        if let LedgerRule::Intervals(intervals) = &mut self.kind {
            intervals.turn_to(process);
        }
    }

    /// The next words of its own chance.
    fn draw(&mut self) -> Draw {
        self.drawn += 1;
        self.draws.at(self.number, self.drawn)
    }

    /// The lease of this process, if its permits come from a store.
    pub(crate) fn leased(&mut self) -> Option<&mut Leased> {
        match &mut self.kind {
            LedgerRule::Leased(leased) => Some(leased),
            _ => None,
        }
    }
}

impl Ledger for ProcessLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        match &mut self.kind {
            LedgerRule::Free => {}
            LedgerRule::Engine(ledger) => ledger.on_first(now),
            LedgerRule::Deposit(bucket) => bucket.on_first(),
            LedgerRule::WindowBlock(window) => window.on_first(now),
            LedgerRule::Lifetime(_) | LedgerRule::Intervals(_) => {}
            LedgerRule::Leased(leased) => leased.on_first(now),
        }
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        match &mut self.kind {
            LedgerRule::Free => Some(Paid::FREE),
            LedgerRule::Engine(ledger) => ledger.ask(now, charge),
            LedgerRule::Deposit(bucket) => bucket.ask(),
            LedgerRule::WindowBlock(window) => window.ask(now),
            LedgerRule::Lifetime(lifetime) => lifetime.ask(),
            LedgerRule::Leased(leased) => leased.ask(now, charge),
            LedgerRule::Intervals(intervals) => intervals.ask(now),
        }
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        match &mut self.kind {
            LedgerRule::Free | LedgerRule::Lifetime(_) => {}
            LedgerRule::Engine(ledger) => ledger.refund(now, paid),
            LedgerRule::Deposit(bucket) => bucket.refund(paid),
            LedgerRule::WindowBlock(window) => window.refund(now),
            LedgerRule::Leased(leased) => leased.refund(now, paid),
            LedgerRule::Intervals(intervals) => intervals.refund(paid),
        }
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        match &mut self.kind {
            LedgerRule::Free | LedgerRule::Intervals(_) | LedgerRule::WindowBlock(_) => {}
            LedgerRule::Engine(ledger) => ledger.on_settled(now, settled),
            LedgerRule::Deposit(bucket) => bucket.on_settled(settled),
            LedgerRule::Lifetime(lifetime) => lifetime.on_settled(settled),
            LedgerRule::Leased(leased) => leased.on_settled(now, settled),
        }
    }

    fn admit(&mut self, now: Instant) -> Admission {
        match (&mut self.kind, &mut self.breaker) {
            (LedgerRule::Engine(ledger), _) => ledger.admit(now),
            (_, Some(breaker)) => breaker.admit(now),
            // A policy without a breaker never asks.
            (_, None) => Admission::Admitted(Ticket::NEUTRAL),
        }
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, _: &mut dyn Entropy) {
        let mut drawn = self.draw();
        let steady = self.steady;
        let mut draw = || if steady { 0 } else { drawn.next_u64() };
        match (&mut self.kind, &mut self.breaker) {
            (LedgerRule::Engine(ledger), _) => ledger.report(now, ticket, report, &mut draw),
            (_, Some(breaker)) => {
                // The state is read from the breaker itself; the transition is news for metrics.
                let _ = breaker.report(now, ticket, report, &mut draw);
            }
            (_, None) => {}
        }
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        let mut drawn = self.draw();
        match &mut self.adaptive {
            Some(limit) => limit.ask(now, &mut drawn),
            // A policy without a limit never asks.
            None => Pacing::After(Span::ZERO),
        }
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        if let Some(limit) = &mut self.adaptive {
            limit.settle(now, report);
        }
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        // A policy without a limit never asks.
        let Some(limiter) = &mut self.limiter else { return Entrance::Open };
        limiter.enter(now, permit, longest)
    }

    fn leave(&mut self, _: Instant, permit: LimitPermit) {
        let next = self.limiter.as_mut().and_then(|limiter| limiter.leave(permit));
        if let Some(waker) = next {
            waker.wake();
        }
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.limiter.as_mut().is_none_or(|limiter| limiter.watch(permit, waker))
    }

    fn pause(&mut self, until: Instant, spread: Span, _: &mut dyn Entropy) {
        let word = self.draw().next_u64();
        self.pause.extend(until, spread, word);
    }

    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        self.pause.start_of_next(now)
    }
}

/// The engine's interval budget, once for each process, kept for those alone that have asked.
///
/// Nothing but a grant changes such a budget, so a process that never asked needs none. That makes
/// room for millions of processes.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    plan: IntervalPlan,
    states: BTreeMap<u32, IntervalState>,
    process: u32,
}

impl Intervals {
    pub(super) const fn new(plan: IntervalPlan) -> Self {
        Self { plan, states: BTreeMap::new(), process: 0 }
    }

    /// Selects the process whose budget is asked next.
    #[inline]
    pub(super) const fn turn_to(&mut self, process: u32) {
        self.process = process;
    }

    pub(super) fn ask(&mut self, now: Instant) -> Option<Paid> {
        self.plan.ask(self.states.entry(self.process).or_default(), now)
    }

    pub(super) fn refund(&mut self, paid: Paid) {
        if let Some(state) = self.states.get_mut(&self.process) {
            self.plan.refund(state, paid);
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;
    use stagger_core::budget::{Budget, Charge};

    use super::*;

    #[test]
    fn every_process_is_granted_what_a_budget_of_its_own_would_grant() {
        let plan = IntervalPlan::new(2, Span::from_secs(3)).expect("valid");
        let mut shared = Intervals::new(plan);
        let mut own = vec![Budget::new(plan.into()); 5];
        for step in 0..1_000_u64 {
            let now = Instant::ORIGIN + Span::from_millis(100 * step);
            let process = (step * 7 % 5) as usize;
            shared.turn_to(u32::try_from(process).expect("a few processes"));
            let (paid, expected) = (shared.ask(now), own[process].ask(now, Charge::Retry));
            assert_eq!(paid, expected, "{step}");
            if let (Some(paid), 0) = (paid, step % 3) {
                shared.refund(paid);
                own[process].refund(now, paid);
            }
        }
        assert_eq!(shared.states.len(), 5);
    }
}
