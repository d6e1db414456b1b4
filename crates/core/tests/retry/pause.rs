//! Hints of one call that hold all calls to its destination.

use stagger_core::PolicyBuilder;
use stagger_core::budget::TokenPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::retry::{Action, Call, Ledger, PlainLedger, Session, Stop, Wait};
use stagger_core::{
    Hint, HintRule, HintScope, Instant, LongHint, Outcome, Policy, Ratio, Span, Verdict,
};
use stagger_testkit::{Mix, lowest};

use crate::script::{FAILED, THROTTLED, at, doubling, secs};

/// Hints up to 60 s, spread by half, for all calls.
fn shared() -> PolicyBuilder {
    doubling().hints(HintRule::default().with_scope(HintScope::Destination))
}

fn built(policy: PolicyBuilder) -> Policy {
    policy.build().expect("within bounds")
}

fn start<'p>(policy: &'p Policy, ledger: &mut PlainLedger, now: Instant) -> (Session<'p>, Action) {
    Session::start(policy, ledger, Call::idempotent(), now)
}

/// A call whose first attempt came to `outcome` at `now`.
fn fail(policy: &Policy, ledger: &mut PlainLedger, now: Instant, outcome: Outcome) -> Action {
    let (mut session, act) = start(policy, ledger, now);
    let Action::Attempt(launched) = act else { panic!("held before any hint: {act:?}") };
    session.on_outcome(ledger, now, launched, &outcome, &mut Mix::new(7))
}

fn busy(hint: u64) -> Outcome {
    THROTTLED.with_hint(Hint::AtLeast(secs(hint)))
}

fn wait(act: Action) -> Option<Instant> {
    match act {
        Action::Wait(Wait::Until(at)) => Some(at),
        _ => None,
    }
}

#[test]
fn a_ninth_call_started_at_once_after_eight_hints() {
    let policy = built(shared());
    let mut ledger = PlainLedger::new(&policy);
    let mut calls: Vec<_> = (0..8).map(|_| start(&policy, &mut ledger, at(0))).collect();
    for (session, act) in &mut calls {
        let Action::Attempt(launched) = *act else { panic!("no hint was given yet") };
        let _ = session.on_outcome(&mut ledger, at(0), launched, &busy(10), &mut Mix::new(7));
    }
    let (mut ninth, act) = start(&policy, &mut ledger, at(1));
    let until = wait(act).expect("it is held");
    assert!(until >= at(10) && until <= at(15), "{until:?}");
    assert!(ninth.is_held() && ninth.retry().attempts() == 0);
    assert!(
        matches!(ninth.on_wake(&mut ledger, until), Action::Attempt(first) if first.attempt.number == 1)
    );
    assert!(
        matches!(start(&policy, &mut ledger, at(16)).1, Action::Attempt(_)),
        "the pause is over"
    );
}

#[test]
fn held_calls_met_at_the_end_of_the_pause() {
    let policy = built(shared());
    let mut ledger = PlainLedger::new(&policy);
    let _ = fail(&policy, &mut ledger, at(0), busy(10));
    let mut starts: Vec<_> =
        (0..50).filter_map(|_| wait(start(&policy, &mut ledger, at(1)).1)).collect();
    starts.sort_unstable();
    let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
    assert_eq!(starts.len(), 50);
    assert!(gaps.max().is_some_and(|gap| gap < Span::from_millis(500)), "{starts:?}");
    assert!(starts[49] - starts[0] > secs(4), "{starts:?}");
}

#[test]
fn a_call_without_time_for_the_pause_waited_for_nothing() {
    let policy = built(shared().deadline(secs(5)));
    let mut ledger = PlainLedger::new(&policy);
    let _ = fail(&policy, &mut ledger, at(0), busy(10));
    let (_, act) = start(&policy, &mut ledger, at(1));
    let Action::Done(done) = act else { panic!("{act:?}") };
    assert_eq!((done.stop, done.attempts), (Stop::HintPastDeadline, 0));
    assert!(done.hint.is_some_and(|hint| hint >= secs(9)), "{done:?}");
}

#[test]
fn a_hint_above_the_maximum_held_the_others_for_all_of_it() {
    for long in [LongHint::Stop, LongHint::Shorten] {
        let rule = HintRule::new(secs(20), Ratio::ZERO, long).expect("within bounds");
        let policy = built(doubling().hints(rule.with_scope(HintScope::Destination)));
        let mut ledger = PlainLedger::new(&policy);
        let _ = fail(&policy, &mut ledger, at(0), busy(3_600));
        assert_eq!(wait(start(&policy, &mut ledger, at(1)).1), Some(at(20)));
    }
}

#[test]
fn hints_that_kept_coming_held_a_call_for_ever() {
    let rule = HintRule::new(secs(20), Ratio::ZERO, LongHint::Stop).expect("within bounds");
    let policy = built(doubling().hints(rule.with_scope(HintScope::Destination)));
    let mut ledger = PlainLedger::new(&policy);
    ledger.pause(at(10), Span::ZERO, &mut lowest());
    let (mut held, act) = start(&policy, &mut ledger, at(0));
    let (mut act, mut now) = (act, at(0));
    while let Some(until) = wait(act) {
        now = until;
        ledger.pause(now + secs(10), Span::ZERO, &mut lowest());
        act = held.on_wake(&mut ledger, now);
    }
    assert!(matches!(act, Action::Attempt(_)));
    assert_eq!(now, at(20), "no longer than one hint could");
}

#[test]
fn the_hint_of_one_call_held_others_that_nobody_asked_to_stay() {
    let mine = built(doubling());
    let ours = built(shared());
    let permanent = Outcome::new(Verdict::Permanent).with_hint(Hint::AtLeast(secs(10)));
    let pushback = THROTTLED.with_hint(Hint::Exactly(secs(10)));
    for (policy, outcome) in
        [(&mine, busy(10)), (&ours, permanent), (&ours, pushback), (&ours, FAILED)]
    {
        let mut ledger = PlainLedger::new(policy);
        let _ = fail(policy, &mut ledger, at(0), outcome);
        assert!(matches!(start(policy, &mut ledger, at(1)).1, Action::Attempt(_)), "{outcome:?}");
    }
}

#[test]
fn a_retry_that_was_held_lost_its_grant() {
    let bucket = TokenPlan::new(100, 10).expect("within bounds");
    let policy = built(shared().budget(bucket));
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, act) = start(&policy, &mut ledger, at(0));
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let act = session.on_outcome(&mut ledger, at(0), first, &FAILED, &mut lowest());
    assert_eq!(wait(act), Some(at(1)));
    ledger.pause(at(5), Span::ZERO, &mut lowest());
    assert_eq!(wait(session.on_wake(&mut ledger, at(1))), Some(at(5)));
    let level = |ledger: &PlainLedger| ledger.budget().level(at(5)).held;
    assert_eq!(level(&ledger), 90, "one grant, which waits along");
    let mut dropped = session;
    let _ = dropped.cancel(&mut ledger.clone(), at(2));
    assert!(
        matches!(session.on_wake(&mut ledger, at(5)), Action::Attempt(second) if second.attempt.number == 2)
    );
    assert_eq!(level(&ledger), 90);
}

#[test]
fn a_copy_was_sent_to_a_destination_that_is_paused() {
    let policy = built(shared().hedge(HedgePlan::fixed(secs(1), 2).expect("within bounds")));
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, act) = start(&policy, &mut ledger, at(0));
    assert!(matches!(act, Action::Attempt(_)));
    ledger.pause(at(10), Span::ZERO, &mut lowest());
    let act = session.on_wake(&mut ledger, at(1));
    assert_eq!(act, Action::Wait(Wait::Copies { hedge_at: None }), "no copy, and nothing is held");
    assert!(!session.is_held());
}
