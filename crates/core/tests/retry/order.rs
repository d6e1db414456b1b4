//! The settling order: of two reasons that hold at once, the earlier is reported.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::retry::{Call, Stop};
use stagger_core::{Backoff, Hint, Jitter, Verdict};
use stagger_testkit::highest;

use crate::script::{FAILED, Run, Script, doubling, secs};

/// The questions of the settling order, each answered with no.
#[derive(Clone, Copy, Debug, PartialEq)]
enum No {
    Verdict,
    Method,
    Body,
    HintForbids,
    HintTooLong,
    HintPastDeadline,
    Attempts,
    Deadline,
    Budget,
    Breaker,
}

/// A call whose first attempt fails so that all these answers are no.
fn end(nos: &[No]) -> Run {
    let is = |no| nos.contains(&no);
    let mut outcome = FAILED;
    if is(No::Verdict) {
        outcome.verdict = Verdict::Permanent;
    }
    outcome.replayable = !is(No::Body);
    outcome.hint = match nos.iter().find(|no| **no as u8 >= No::HintForbids as u8) {
        Some(No::HintForbids) => Some(Hint::Never),
        Some(No::HintTooLong) => Some(Hint::AtLeast(secs(120))),
        Some(No::HintPastDeadline) => Some(Hint::AtLeast(secs(50))),
        _ => None,
    };
    let delay = Backoff::constant(secs(10)).with_jitter(Jitter::None).expect("a law");
    let mut policy = doubling()
        .backoff(delay)
        .max_attempts(if is(No::Attempts) { 1 } else { 3 })
        .deadline(secs(match () {
            () if is(No::Deadline) => 5,
            () if is(No::HintPastDeadline) => 40,
            () => 1_000,
        }));
    if is(No::Budget) {
        policy = policy.budget(BudgetPlan::None);
    }
    if is(No::Breaker) {
        let plan = BreakerPlan::builder().consecutive(1).open_time(secs(50)).build();
        policy = policy.breaker(plan.expect("within bounds"));
    }
    let policy = policy.build().expect("within bounds");
    let call = if is(No::Method) { Call::once() } else { Call::idempotent() };
    Script::new(&policy).call(call, &[outcome], &mut highest())
}

fn first_of(nos: &[No], stop: Stop) {
    let run = end(nos);
    assert_eq!(run.done.stop, stop, "{nos:?}");
    assert_eq!(run.done.attempts, 1, "{nos:?}");
    if nos != [No::Breaker] {
        assert_eq!(run.done.elapsed, secs(0), "{nos:?}: no sleep before a refusal");
    }
}

#[test]
fn a_permanent_failure_was_reported_as_not_idempotent() {
    first_of(&[No::Verdict, No::Method], Stop::Permanent);
}

#[test]
fn a_call_that_must_not_repeat_was_reported_as_not_replayable() {
    first_of(&[No::Method, No::Body], Stop::NotIdempotent);
}

#[test]
fn a_body_that_is_gone_was_reported_as_a_hint() {
    first_of(&[No::Body, No::HintForbids], Stop::NotReplayable);
    first_of(&[No::Body, No::HintTooLong], Stop::NotReplayable);
    first_of(&[No::Body, No::HintPastDeadline], Stop::NotReplayable);
}

#[test]
fn a_hint_that_is_too_long_was_reported_as_past_the_deadline() {
    first_of(&[No::HintTooLong, No::HintPastDeadline], Stop::HintTooLong);
}

#[test]
fn a_hint_was_reported_as_attempts_exhausted() {
    first_of(&[No::HintForbids, No::Attempts], Stop::HintForbids);
    first_of(&[No::HintTooLong, No::Attempts], Stop::HintTooLong);
    first_of(&[No::HintPastDeadline, No::Attempts], Stop::HintPastDeadline);
}

#[test]
fn exhausted_attempts_were_reported_as_the_deadline() {
    first_of(&[No::Attempts, No::Deadline], Stop::AttemptsExhausted);
}

#[test]
fn the_deadline_was_reported_as_an_empty_budget() {
    first_of(&[No::Deadline, No::Budget], Stop::DeadlineExceeded);
}

#[test]
fn an_empty_budget_slept_before_the_breaker_was_asked() {
    first_of(&[No::Budget, No::Breaker], Stop::BudgetEmpty);
}

#[test]
fn the_breaker_is_asked_after_the_wait() {
    let run = end(&[No::Breaker]);
    assert_eq!((run.done.stop, run.done.elapsed), (Stop::BreakerOpen, secs(10)));
}

#[test]
fn a_later_reason_hid_an_earlier_one() {
    let order = [
        (No::Verdict, Stop::Permanent),
        (No::Method, Stop::NotIdempotent),
        (No::Body, Stop::NotReplayable),
        (No::HintForbids, Stop::HintForbids),
        (No::HintTooLong, Stop::HintTooLong),
        (No::HintPastDeadline, Stop::HintPastDeadline),
        (No::Attempts, Stop::AttemptsExhausted),
        (No::Deadline, Stop::DeadlineExceeded),
        (No::Budget, Stop::BudgetEmpty),
        (No::Breaker, Stop::BreakerOpen),
    ];
    for (n, (_, stop)) in order.iter().enumerate() {
        let nos: Vec<_> = order[n..].iter().map(|(no, _)| *no).collect();
        first_of(&nos, *stop);
    }
}
