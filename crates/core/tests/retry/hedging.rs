//! Copies of one call: through the machine, the budget and the breaker.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, TokenPlan};
use stagger_core::hedge::HedgePlan;
use stagger_core::retry::{Action, Call, Launched, PlainLedger, Session, Stop, Wait};
use stagger_core::{Hint, Instant, Outcome, Policy, PolicyBuilder, Span, Verdict};
use stagger_testkit::{highest, lowest};

use crate::script::{FAILED, at, doubling, secs};

fn ms(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(n)
}

/// Up to three copies, 100 ms apart.
fn hedged() -> PolicyBuilder {
    doubling().hedge(HedgePlan::fixed(Span::from_millis(100), 3).expect("within bounds"))
}

fn copies(hedge_at: Option<u64>) -> Action {
    Action::Wait(Wait::Copies { hedge_at: hedge_at.map(ms) })
}

/// A call under way, with its destination.
struct Race<'p> {
    session: Session<'p>,
    ledger: PlainLedger,
}

impl<'p> Race<'p> {
    fn start(policy: &'p Policy, call: Call) -> (Self, Launched) {
        let mut ledger = PlainLedger::new(policy);
        let (session, act) = Session::start(policy, &mut ledger, call, ms(0));
        let Action::Attempt(first) = act else { panic!("{act:?}") };
        (Self { session, ledger }, first)
    }

    fn wake(&mut self, millis: u64) -> Action {
        self.session.on_wake(&mut self.ledger, ms(millis))
    }

    fn copy(&mut self, millis: u64) -> Launched {
        match self.wake(millis) {
            Action::Hedge(copy) => copy,
            act => panic!("no copy but {act:?}"),
        }
    }

    fn settle(&mut self, millis: u64, copy: Launched, outcome: &Outcome) -> Action {
        self.session.on_outcome(&mut self.ledger, ms(millis), copy, outcome, &mut highest())
    }

    fn tokens(&self) -> u64 {
        self.ledger.budget().level(ms(0)).held
    }
}

#[test]
fn copies_and_retries_counted_their_attempts_apart() {
    let policy = hedged().max_attempts(4).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    assert_eq!(first.attempt.hedge_at, Some(ms(100)));
    let second = race.copy(100);
    let third = race.copy(200);
    assert_eq!((second.attempt.number, third.attempt.number), (2, 3));
    assert_eq!(third.attempt.hedge_at, None, "three copies are all");
    assert_eq!(race.settle(300, first, &FAILED), copies(None), "two may still win");
    assert_eq!(race.settle(300, third, &FAILED), copies(None));
    let Action::Wait(Wait::Until(wake)) = race.settle(400, second, &FAILED) else {
        panic!("a retry")
    };
    assert_eq!(wake, ms(1_400));
    let Action::Attempt(fourth) = race.wake(1_400) else { panic!("the wait is over") };
    assert_eq!((fourth.attempt.number, fourth.attempt.hedge_at), (4, None));
    let act = race.settle(1_400, fourth, &FAILED);
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::AttemptsExhausted));
}

// Azure/azure-sdk-for-rust PR 4896: 32 slow calls made 64 requests.
#[test]
fn hedges_doubled_the_load() {
    let plan = TokenPlan::new(8, 1).and_then(|plan| plan.with_first_try(0));
    let policy = doubling()
        .hedge(HedgePlan::fixed(Span::from_millis(100), 2).expect("within bounds"))
        .budget(plan.expect("within bounds"))
        .build()
        .expect("within bounds");
    let mut ledger = PlainLedger::new(&policy);
    let mut requests = 0;
    for _ in 0..32 {
        let (mut call, act) = Session::start(&policy, &mut ledger, Call::idempotent(), ms(0));
        requests += u32::from(matches!(act, Action::Attempt(_)));
        match call.on_wake(&mut ledger, ms(100)) {
            Action::Hedge(_) => requests += 1,
            act => assert_eq!(act, copies(None), "a refusal just means no hedge"),
        }
        assert_eq!(call.on_wake(&mut ledger, ms(500)), copies(None), "and is not asked again");
    }
    assert_eq!(requests, 40);
}

#[test]
fn a_call_that_must_not_run_twice_was_hedged() {
    let policy = hedged().build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::once());
    assert_eq!(first.attempt.hedge_at, None);
    assert_eq!(race.wake(5_000), copies(None));
}

#[test]
fn a_copy_was_launched_without_time_to_run() {
    let policy = hedged().deadline(Span::from_millis(150)).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    assert_eq!(first.attempt.hedge_at, Some(ms(100)));
    let second = race.copy(100);
    assert_eq!(second.attempt.timeout, Some(Span::from_millis(50)));
    assert_eq!(second.attempt.hedge_at, None, "at 200 ms all is over");
    let (mut late, _) = Race::start(&policy, Call::idempotent());
    assert_eq!(late.wake(150), copies(None), "woken too late");
}

#[test]
fn a_copy_refused_by_the_breaker_kept_its_token() {
    let breaker = BreakerPlan::builder().consecutive(1).ratio(None).build();
    let policy = hedged()
        .budget(TokenPlan::new(10, 1).expect("within bounds"))
        .breaker(breaker.expect("within bounds"))
        .build()
        .expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    // Another call to the same destination fails and opens the breaker.
    let (mut other, act) = Session::start(&policy, &mut race.ledger, Call::once(), ms(50));
    let Action::Attempt(launched) = act else { panic!("closed") };
    let _ = other.on_outcome(&mut race.ledger, ms(50), launched, &FAILED, &mut lowest());
    assert_eq!(race.wake(100), copies(None));
    assert_eq!(race.tokens(), 10);
    let act = race.settle(200, first, &Outcome::OK);
    assert!(
        matches!(act, Action::Done(done) if done.stop == Stop::Succeeded && done.attempts == 1)
    );
}

#[test]
fn the_loser_was_free_though_the_server_had_worked_on_it() {
    let plan = TokenPlan::new(10, 4).and_then(|plan| plan.with_first_try(0));
    let policy = hedged().budget(plan.expect("within bounds")).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    assert_eq!(race.tokens(), 6);
    let act = race.settle(150, first, &Outcome::OK);
    assert!(
        matches!(act, Action::Done(done) if done.stop == Stop::Succeeded && done.attempts == 2)
    );
    Session::abandon(&mut race.ledger, ms(150), second, &mut lowest());
    assert_eq!(race.tokens(), 6);
}

#[test]
fn the_copies_of_a_caller_that_gave_up_were_free() {
    let plan = TokenPlan::new(10, 4).and_then(|plan| plan.with_first_try(0));
    let policy = hedged().budget(plan.expect("within bounds")).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    for copy in [first, second] {
        Session::abandon(&mut race.ledger, ms(150), copy, &mut lowest());
    }
    assert_eq!(race.tokens(), 6);
}

#[test]
fn a_fatal_failure_waited_for_the_other_copies() {
    let policy = hedged().build().expect("within bounds");
    let (mut race, _first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    let act = race.settle(150, second, &Outcome::new(Verdict::Permanent));
    assert!(
        matches!(act, Action::Done(done) if done.stop == Stop::Permanent && done.attempts == 2)
    );
}

// grpc/proposal, A6: a non-fatal failure sends the next copy at once, pushback delays it, and a
// negative one stops hedging while the copies under way go on.
#[test]
fn failures_and_pushback_did_not_move_the_next_copy() {
    let policy = hedged().max_attempts(9).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    let act = race.settle(110, first, &FAILED);
    assert!(matches!(act, Action::Hedge(third) if third.attempt.number == 3), "at once: {act:?}");

    let (mut pushed, first) = Race::start(&policy, Call::idempotent());
    let _ = pushed.copy(100);
    let later = FAILED.with_hint(Hint::Exactly(secs(1)));
    assert_eq!(pushed.settle(110, first, &later), copies(Some(1_110)));
    assert_eq!(pushed.wake(200), copies(Some(1_110)));

    let (mut stopped, first) = Race::start(&policy, Call::idempotent());
    let other = stopped.copy(100);
    assert_eq!(stopped.settle(110, first, &FAILED.with_hint(Hint::Never)), copies(None));
    assert_eq!(stopped.wake(5_000), copies(None));
    let act = stopped.settle(5_000, other, &Outcome::OK);
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::Succeeded));
    let _ = second;
}

#[test]
fn the_server_said_never_to_one_copy_and_the_other_was_retried() {
    let policy = hedged().build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    assert_eq!(race.settle(110, first, &FAILED.with_hint(Hint::Never)), copies(None));
    let act = race.settle(120, second, &FAILED);
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::HintForbids), "{act:?}");
}

#[test]
fn a_late_loser_moved_the_wait_of_the_retry() {
    let policy = hedged().max_attempts(9).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let Action::Wait(wait) = race.settle(10, first, &FAILED) else { panic!("a retry") };
    assert_eq!(race.settle(20, first, &Outcome::OK), Action::Wait(wait));
}

#[test]
fn no_budget_meant_no_first_attempt() {
    let policy = hedged().budget(BudgetPlan::None).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    assert_eq!(race.wake(100), copies(None));
    let act = race.settle(200, first, &FAILED);
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::BudgetEmpty));
    assert_eq!(at(0), ms(0));
}

// RFC 9110 leaves several hints open; the longest is the one that no copy contradicts.
#[test]
fn the_hint_to_one_copy_was_forgotten_when_another_failed_last() {
    let policy = hedged().max_attempts(9).build().expect("within bounds");
    let (mut race, first) = Race::start(&policy, Call::idempotent());
    let second = race.copy(100);
    let hinted = FAILED.with_hint(Hint::AtLeast(secs(30)));
    assert!(matches!(race.settle(110, first, &hinted), Action::Wait(Wait::Copies { .. })));
    let act = race.settle(10_110, second, &FAILED);
    let Action::Wait(Wait::Until(at)) = act else { panic!("a retry: {act:?}") };
    assert!(at >= ms(30_110), "{at:?}");
}
