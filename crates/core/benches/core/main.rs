//! Benchmarks of the engine. `cargo xtask bench core` runs them and prints one table.
//!
//! To add an operation, add one line to `rows`.

use std::hint::black_box;

use stagger_core::breaker::{Breaker, BreakerPlan, Report};
use stagger_core::budget::{Budget, BudgetPlan, Charge, TokenPlan};
use stagger_core::retry::{Action, Call, PlainLedger, Retry, Session, Step};
use stagger_core::{Backoff, Instant, Jitter, Outcome, Policy, Span};

mod allocations;
mod ledger;

use ledger::Ledger;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() {
    let mut ledger = Ledger::new();
    rows(&mut ledger);
    ledger.close();
}

fn rows(ledger: &mut Ledger) {
    delays(ledger);
    ledgers(ledger);
    calls(ledger);
    ledger.size("per-call state", size_of::<Retry>());
    ledger.size("policy", size_of::<Policy>());
    ledger.size("budget", size_of::<Budget>());
    ledger.size("breaker", size_of::<Breaker>());
}

/// One delay of each law, beside the peer: the same draw by fastrand alone.
fn delays(ledger: &mut Ledger) {
    let mut peer = fastrand::Rng::with_seed(1);
    let ceiling = Span::from_millis(800).as_nanos();
    ledger.time("reference fastrand full jitter", || peer.u64(0..=black_box(ceiling)));

    let rule = Backoff::exponential(Span::from_millis(100), Span::from_secs(10)).expect("in order");
    let laws = [
        ("delay full", Jitter::Full),
        ("delay equal", Jitter::Equal),
        ("delay decorrelated", Jitter::Decorrelated),
    ];
    for (name, law) in laws {
        let rule = rule.with_jitter(law).expect("these laws take a doubling envelope");
        let mut rng = fastrand::Rng::with_seed(1);
        let mut words = || rng.u64(..);
        let prev = Span::from_millis(300);
        ledger.time(name, || black_box(&rule).delay(black_box(4), black_box(prev), &mut words));
    }
    let odd = rule.with_factor(1.5).expect("in range");
    let mut rng = fastrand::Rng::with_seed(1);
    let mut words = || rng.u64(..);
    ledger.time("delay full factor 1.5", || odd.delay(black_box(4), Span::ZERO, &mut words));
}

/// A first attempt and a retry through each budget; a call through a closed breaker.
///
/// Time moves a microsecond a call, so windows turn as they would at a million calls a second.
fn ledgers(ledger: &mut Ledger) {
    let plans: [(&str, BudgetPlan); 2] = [
        ("budget pair window", BudgetPlan::default()),
        ("budget pair tokens", TokenPlan::aws_2_0().into()),
    ];
    for (name, plan) in plans {
        let mut budget = Budget::new(plan);
        let mut now = Instant::ORIGIN;
        ledger.time(name, || {
            now = now + Span::from_micros(1);
            budget.on_first(now);
            budget.ask(now, black_box(Charge::Retry))
        });
    }

    let mut breaker = Breaker::new(BreakerPlan::default());
    let mut now = Instant::ORIGIN;
    let mut never = || 0;
    ledger.time("breaker closed call", || {
        now = now + Span::from_micros(1);
        let ticket = breaker.admit(now).ticket()?;
        breaker.report(now, ticket, black_box(Report::Success), &mut never)
    });
}

/// Whole calls that succeed at once: the price of having a policy when nothing goes wrong.
fn calls(ledger: &mut Ledger) {
    let policy = Policy::default();
    let mut never = || 0;
    let now = Instant::from_nanos(5);
    ledger.time("first attempt succeeds", || {
        let policy = black_box(&policy);
        let (mut call, first) = Retry::start(policy, Call::idempotent(), black_box(now));
        let Step::Act(Action::Attempt(attempt)) = first else { return None };
        black_box(attempt.number);
        match call.on_outcome(policy, now, black_box(&Outcome::OK), &mut never) {
            Step::Act(Action::Done(done)) => Some((done.stop, done.attempts)),
            _ => None,
        }
    });

    let mut plain = PlainLedger::new(&policy);
    let mut now = Instant::ORIGIN;
    ledger.time("first attempt succeeds with ledger", || {
        now = now + Span::from_micros(1);
        let (mut call, act) = Session::start(&policy, &mut plain, Call::idempotent(), now);
        let Action::Attempt(first) = act else { return None };
        match call.on_outcome(&mut plain, now, first, black_box(&Outcome::OK), &mut never) {
            Action::Done(done) => Some((done.stop, done.attempts)),
            _ => None,
        }
    });
}
