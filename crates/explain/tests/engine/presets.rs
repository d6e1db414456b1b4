//! The ready policies and every jitter law, with many calls.

use stagger_core::retry::{Action, Call, PlainLedger, Session, Wait};
use stagger_core::{Backoff, Instant, Jitter, Outcome, Policy, Ratio, Span, Verdict};
use stagger_explain::{Setting, explain};
use stagger_testkit::{Mix, highest};

use crate::player::play;
use crate::verdicts::agrees;

const CALLS: u32 = 100_000;

#[test]
fn the_presets_do_what_is_said_of_them() {
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).expect("a name of the list");
        agrees(&explain(&policy, &Setting::default()), &play(&policy, CALLS, &mut Mix::new(6)));
    }
}

#[test]
fn every_jitter_does_what_is_said_of_it() {
    let part = Ratio::from_percent(30);
    let laws = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedClamped,
        Jitter::Proportional(part),
        Jitter::Symmetric(part),
    ];
    for law in laws {
        let rule = Backoff::exponential(Span::from_millis(100), Span::from_secs(2));
        let rule = rule.and_then(|rule| rule.with_jitter(law)).expect("a legal backoff");
        let policy = Policy::builder().backoff(rule).max_attempts(9).build().expect("valid");
        let figures = explain(&policy, &Setting::default());
        agrees(&figures, &play(&policy, CALLS, &mut Mix::new(7)));
    }
}

#[test]
fn the_worst_case_is_what_the_longest_draws_and_hanging_attempts_take() {
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).expect("a name of the list");
        let builder = policy.to_builder().attempt_timeout(Span::from_secs(1));
        let policy = builder.build().expect("valid");
        let worst = explain(&policy, &Setting::default()).worst_case.expect("it is bounded");
        let took = hanging(&policy);
        assert!(took <= worst, "{name}: {took} is more than {worst}");
        if policy.limits().deadline().is_none() {
            assert_eq!(took, worst, "{name}");
        }
    }
}

/// How long a call takes whose attempts all run into their time limit while the server throttles.
fn hanging(policy: &Policy) -> Span {
    let (mut ledger, mut now) = (PlainLedger::new(policy), Instant::ORIGIN);
    let (mut call, mut act) = Session::start(policy, &mut ledger, Call::idempotent(), now);
    loop {
        act = match act {
            Action::Attempt(launched) | Action::Hedge(launched) => {
                now = now + launched.attempt.timeout.expect("a time limit");
                let failed = Outcome::new(Verdict::Throttled);
                call.on_outcome(&mut ledger, now, launched, &failed, &mut highest())
            }
            Action::Wait(Wait::Until(at)) => {
                now = at;
                call.on_wake(&mut ledger, now)
            }
            Action::Wait(Wait::Copies { .. }) => unreachable!("no preset hedges"),
            Action::Done(done) => return done.elapsed,
        };
    }
}
