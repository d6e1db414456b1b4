//! Remedies, unprocessed calls, and calls that must not run twice.

use stagger_core::budget::{BudgetPlan, Charge, TokenPlan};
use stagger_core::retry::{Action, Ask, Call, Permit, Retry, Step, Stop, Wait};
use stagger_core::{Hint, Outcome, Remedy, Span, Verdict};
use stagger_testkit::{Scripted, highest};

use crate::script::{FAILED, Script, THROTTLED, at, doubling, secs};

const UNPROCESSED: Outcome = Outcome::new(Verdict::Unprocessed);

/// Replies that ask for each remedy: 421, 425, 401, and a refused stream.
const REMEDIES: [(Remedy, Verdict); 4] = [
    (Remedy::FreshConnection, Verdict::Permanent),
    (Remedy::WithoutEarlyData, Verdict::Permanent),
    (Remedy::RefreshAuth, Verdict::Permanent),
    (Remedy::Transparent, Verdict::Unprocessed),
];

#[test]
fn a_remedy_waited_or_paid_or_was_tried_for_ever() {
    for (remedy, verdict) in REMEDIES {
        let policy = doubling().budget(TokenPlan::aws_2_0()).max_attempts(5);
        let policy = policy.build().expect("within bounds");
        for call in [Call::idempotent(), Call::once()] {
            let asks = Outcome::new(verdict).with_remedy(remedy);
            let (mut retry, _) = Retry::start(&policy, call, at(0));
            let mut none = Scripted::new([]);
            let Step::Act(Action::Attempt(again)) =
                retry.on_outcome(&policy, at(0), &asks, &mut none)
            else {
                panic!("{remedy:?}: no wait, no budget, no chance")
            };
            assert_eq!(again.remedy, Some(remedy));
            let counted = u32::from(remedy != Remedy::Transparent);
            assert_eq!(again.number, 1 + counted, "{remedy:?}");
            let second = retry.on_outcome(&policy, at(0), &asks, &mut highest());
            match remedy {
                // Then the normal policy: it waits, and it pays.
                Remedy::Transparent => {
                    assert_eq!(second, Step::Ask(Ask::Budget(Charge::Retry)));
                }
                _ => assert!(
                    matches!(second, Step::Act(Action::Done(done)) if done.stop == Stop::Permanent),
                    "{remedy:?}: {second:?}"
                ),
            }
        }
    }
}

#[test]
fn one_remedy_used_up_another() {
    let policy = doubling().max_attempts(9).build().expect("within bounds");
    let script = REMEDIES.map(|(remedy, verdict)| Outcome::new(verdict).with_remedy(remedy));
    let run = Script::new(&policy).run(&[&script[..], &[Outcome::OK]].concat());
    assert_eq!((run.done.stop, run.starts.len()), (Stop::Succeeded, 5));
    assert_eq!((run.done.attempts, run.done.elapsed), (4, Span::ZERO));
}

// Every stream refused for ever: the worst that free resends can do.
#[test]
fn free_resends_were_without_a_bound() {
    let policy = doubling().budget(BudgetPlan::None).max_attempts(9).build().expect("in bounds");
    let refused = Outcome::new(Verdict::Unprocessed).with_remedy(Remedy::Transparent);
    let calls = 1_000;
    let starts: usize =
        (0..calls).map(|_| Script::new(&policy).run(&[refused; 9]).starts.len()).sum();
    assert_eq!(starts, 2 * calls, "a call and one resend, and then the budget is asked");
    // A server that asks for every remedy in turn gets one attempt more for each.
    let script = REMEDIES.map(|(remedy, verdict)| Outcome::new(verdict).with_remedy(remedy));
    let run = Script::new(&policy).run(&[&script[..], &[refused; 9]].concat());
    assert_eq!(run.starts.len(), 1 + REMEDIES.len());
}

#[test]
fn the_attempt_after_a_remedy_still_carried_it() {
    let policy = doubling().max_attempts(9).build().expect("within bounds");
    let (mut retry, _) = Retry::start(&policy, Call::idempotent(), at(0));
    let asks = Outcome::new(Verdict::Permanent).with_remedy(Remedy::FreshConnection);
    let _ = retry.on_outcome(&policy, at(0), &asks, &mut highest());
    let _ = retry.on_outcome(&policy, at(0), &FAILED, &mut highest());
    let Step::Act(Action::Attempt(next)) = retry.on_wake(&policy, at(1)) else {
        panic!("the wait is over")
    };
    assert_eq!((next.number, next.remedy), (3, None));
}

#[test]
fn a_remedy_ignored_the_limits_and_the_server() {
    let asks = Outcome::new(Verdict::Permanent).with_remedy(Remedy::FreshConnection);
    let once = doubling().max_attempts(1).build().expect("within bounds");
    assert_eq!(Script::new(&once).run(&[asks]).starts.len(), 1, "attempts");
    let late = doubling().deadline(secs(5)).build().expect("within bounds");
    let mut script = Script { took: secs(5), ..Script::new(&late) };
    assert_eq!(script.run(&[asks]).starts.len(), 1, "deadline");
    let policy = doubling().build().expect("within bounds");
    assert_eq!(Script::new(&policy).run(&[asks.with_hint(Hint::Never)]).starts.len(), 1, "hint");
    assert_eq!(Script::new(&policy).run(&[asks.not_replayable()]).starts.len(), 1, "body");
}

#[test]
fn a_refused_connection_bypassed_the_budget() {
    let policy = doubling().budget(TokenPlan::aws_2_0()).max_attempts(9);
    let policy = policy.build().expect("within bounds");
    let (mut retry, _) = Retry::start(&policy, Call::once(), at(0));
    let first = retry.on_outcome(&policy, at(0), &UNPROCESSED, &mut highest());
    assert_eq!(first, Step::Ask(Ask::Budget(Charge::Retry)), "the first one too");
    assert_eq!(
        retry.on_permit(&policy, at(0), Permit::Granted),
        Step::Act(Action::Wait(Wait::Until(at(1))))
    );
    assert!(matches!(retry.on_wake(&policy, at(1)), Step::Act(Action::Attempt(_))));
    let second = retry.on_outcome(&policy, at(1), &UNPROCESSED, &mut highest());
    assert_eq!(second, Step::Ask(Ask::Budget(Charge::Retry)));
    assert_eq!(
        retry.on_permit(&policy, at(1), Permit::Granted),
        Step::Act(Action::Wait(Wait::Until(at(3))))
    );
}

// istio/istio #50506, microsoft/aspire #4631: a payment sent twice.
#[test]
fn a_call_that_must_not_run_twice_did() {
    let policy = doubling().max_attempts(5).build().expect("within bounds");
    let run = |script: &[Outcome]| Script::new(&policy).call(Call::once(), script, &mut highest());
    for outcome in [FAILED, THROTTLED, THROTTLED.with_hint(Hint::Exactly(Span::ZERO))] {
        let end = run(&[outcome]);
        assert_eq!((end.done.stop, end.starts.len()), (Stop::NotIdempotent, 1));
    }
    let end = run(&[UNPROCESSED, UNPROCESSED, FAILED]);
    assert_eq!((end.done.stop, end.starts.len()), (Stop::NotIdempotent, 3));
}

// jonbern/fetch-retry #99, sindresorhus/got #1382: an empty body on the second try.
#[test]
fn a_body_that_was_gone_was_sent_empty() {
    let policy = doubling().build().expect("within bounds");
    for outcome in [FAILED, THROTTLED, UNPROCESSED] {
        let run = Script::new(&policy).run(&[outcome.not_replayable()]);
        assert_eq!((run.done.stop, run.starts.len()), (Stop::NotReplayable, 1));
    }
}

// jd/tenacity #529 and #186.
#[test]
fn a_cancelled_attempt_was_retried() {
    let policy = doubling().build().expect("within bounds");
    let outcome = Outcome::new(Verdict::Cancelled).with_remedy(Remedy::Transparent);
    let run = Script::new(&policy).run(&[outcome.with_hint(Hint::Exactly(Span::ZERO))]);
    assert_eq!((run.done.stop, run.starts.len()), (Stop::Cancelled, 1));
}
