//! Short words for plans, and invariants of every run.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, HintRule, Instant, Jitter, LongHint, Policy, Ratio, Span};
use stagger_sim::{ArrivalProcess, CallerLayer, Heap, Played, RunPlan, Simulation};

pub(crate) fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

/// One attempt, and no patience limit.
pub(crate) fn once() -> CallerLayer {
    fixed(0, 1)
}

/// So many attempts, each this long after the failure of the one before, or when a hint says.
pub(crate) fn fixed(delay: u64, attempts: u32) -> CallerLayer {
    CallerLayer::new(policy(delay, attempts))
}

pub(crate) fn policy(delay: u64, attempts: u32) -> Policy {
    let backoff = Backoff::constant(ms(delay)).with_jitter(Jitter::None).expect("valid");
    let hints = HintRule::new(Span::from_secs(60), Ratio::ZERO, LongHint::Stop).expect("valid");
    Policy::builder()
        .backoff(backoff)
        .max_attempts(attempts)
        .budget(BudgetPlan::Unlimited)
        .hints(hints)
        .build()
        .expect("valid")
}

pub(crate) fn together(callers: u32, caller: CallerLayer) -> RunPlan {
    RunPlan::new(ArrivalProcess::Together { callers }, caller)
}

pub(crate) fn every(spacing: u64, callers: u32, caller: CallerLayer) -> RunPlan {
    RunPlan::new(ArrivalProcess::Even { callers, spacing: ms(spacing) }, caller)
}

/// Plays a run with both queues, and checks what must hold in all of them.
pub(crate) fn play(plan: &RunPlan) -> Played {
    let played = Simulation::new().play(plan, 7);
    assert_eq!(played, Simulation::on(Heap::default()).play(plan, 7), "the queues disagree");
    assert!(played.succeeded <= played.calls);
    assert_eq!(played.served.total, played.succeeded, "each success is heard of once");
    assert!(played.finished >= played.wasted.total);
    assert!(played.finished <= played.attempts.total, "nothing is finished that never came");
    assert!(played.retries.total <= played.attempts.total);
    played
}

/// The longest time a call took that succeeded; of a histogram, so up to 1/31 too long.
#[track_caller]
pub(crate) fn assert_longest(played: &Played, expected: u64) {
    let longest = played.latency.quantile(1.0).expect("somebody succeeded");
    let expected = ms(expected);
    let most = expected + Span::from_nanos(expected.as_nanos() / 31 + 1);
    assert!(expected <= longest && longest <= most, "{longest}, not {expected}");
}
