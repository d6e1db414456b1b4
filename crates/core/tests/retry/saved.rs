//! A call that goes on in another process behaves as if it had never stopped.

use proptest::prelude::*;
use stagger_core::retry::{Action, Call, Permit, Retry, Saved, Step, Stop, Wait};
use stagger_core::{Instant, Outcome, Policy, Remedy, Span, Verdict};
use stagger_testkit::Mix;

use crate::script::{FAILED, THROTTLED, at, doubling, secs};

/// Drives a waiting call to its end; its waits and limits, relative to `from`.
fn rest(retry: &mut Retry, policy: &Policy, from: Instant, script: &[Outcome]) -> Vec<String> {
    let mut entropy = Mix::new(5);
    let mut script = script.iter().cycle();
    let (mut now, mut log) = (from, Vec::new());
    let mut step = retry.on_wake(policy, now);
    loop {
        step = match step {
            Step::Act(Action::Wait(Wait::Until(wake))) => {
                log.push(format!("wait {}", wake - now));
                now = wake;
                retry.on_wake(policy, now)
            }
            Step::Act(Action::Attempt(attempt)) => {
                log.push(format!("{} {:?} {:?}", attempt.number, attempt.timeout, attempt.remedy));
                now = now + Span::from_millis(300);
                let outcome = script.next().expect("it repeats for ever");
                retry.on_outcome(policy, now, outcome, &mut entropy)
            }
            Step::Act(Action::Done(done)) => {
                log.push(format!("{:?} {} {}", done.stop, done.attempts, done.elapsed));
                return log;
            }
            other => panic!("neither budget nor breaker nor copies here: {other:?}"),
        };
    }
}

fn through_json(saved: Saved) -> Saved {
    let text = serde_json::to_string(&saved).expect("plain data");
    serde_json::from_str(&text).expect("as it was written")
}

proptest! {
    #[test]
    fn a_restart_changed_the_rest_of_the_call(
        failures in 1..6_u32, pause in 0..3_000_u64, other_clock: u32, unprocessed: bool, limited: bool,
    ) {
        let mut builder = doubling().max_attempts(9);
        if limited {
            builder = builder.deadline(secs(20));
        }
        let policy = builder.build().expect("within bounds");
        let refused = Outcome::new(Verdict::Unprocessed).with_remedy(Remedy::Transparent);
        let outcome = if unprocessed { refused } else { FAILED };
        let mut now = at(1_000);
        let (mut call, _) = Retry::start(&policy, Call::idempotent(), now);
        let mut entropy = Mix::new(1);
        for _ in 0..failures {
            let step = call.on_outcome(&policy, now, &outcome, &mut entropy);
            if let Step::Act(Action::Wait(Wait::Until(wake))) = step {
                now = wake;
                let _ = call.on_wake(&policy, now);
            }
        }
        prop_assume!(matches!(call.on_outcome(&policy, now, &FAILED, &mut entropy), Step::Act(Action::Wait(_))));
        let now = now + Span::from_millis(pause);
        let script = [FAILED, refused, THROTTLED, FAILED];

        // A clock whose origin may be much later than the call's start.
        let elsewhere = Instant::from_nanos(u64::from(other_clock));
        let (mut resumed, _) = through_json(call.save(now)).resume(&policy, elsewhere);
        prop_assert_eq!(resumed.elapsed(elsewhere), call.elapsed(now));
        let stayed = rest(&mut call, &policy, now, &script);
        // The resumed one already made the step that `rest` makes first, when its wait was over.
        if let Some(wait) = stayed[0].strip_prefix("wait ") {
            let going_on = rest(&mut resumed, &policy, elsewhere, &script);
            prop_assert_eq!(&going_on, &stayed, "{}", wait);
        }
    }
}

#[test]
fn a_crash_loop_gave_the_call_its_whole_deadline_every_time() {
    let policy = doubling().unlimited_attempts().deadline(secs(20)).build().expect("within bounds");
    let (mut call, _) = Retry::start(&policy, Call::idempotent(), at(0));
    let _ = call.on_outcome(&policy, at(0), &FAILED, &mut Mix::new(1));
    let mut saved = call.save(at(8));
    for lived in [5, 5, 5] {
        let young = Instant::from_nanos(1);
        let (call, step) = saved.resume(&policy, young);
        if let Step::Act(Action::Done(done)) = step {
            assert_eq!((done.stop, done.elapsed), (Stop::DeadlineExceeded, secs(23)));
            return;
        }
        saved = through_json(call.save(young + secs(lived)));
    }
    let (_, step) = saved.resume(&policy, Instant::from_nanos(1));
    assert!(matches!(step, Step::Act(Action::Done(done)) if done.elapsed == secs(23)), "{step:?}");
}

#[test]
fn an_attempt_that_was_under_way_did_not_count() {
    let policy = doubling().max_attempts(2).build().expect("within bounds");
    let (call, _) = Retry::start(&policy, Call::idempotent(), at(5));
    let saved = through_json(call.save(at(6)));
    assert_eq!((saved.attempts, saved.wait, saved.elapsed), (1, secs(0), secs(1)));
    let (_, step) = saved.resume(&policy, at(0));
    assert!(matches!(step, Step::Act(Action::Attempt(attempt)) if attempt.number == 2));
}

#[test]
fn a_saved_call_with_an_unknown_field_was_read_in_part() {
    let policy = doubling().build().expect("within bounds");
    let (call, _) = Retry::start(&policy, Call::once(), at(5));
    let text = serde_json::to_string(&call.save(at(6))).expect("plain data");
    let more = text.replacen('{', "{\"tries\":3,", 1);
    assert!(serde_json::from_str::<Saved>(&more).is_err());
    assert_eq!(serde_json::from_str::<Saved>(&text).ok(), Some(call.save(at(6))));
}

#[test]
fn a_restart_sent_a_payment_twice_or_an_attempt_too_many() {
    let policy = doubling().max_attempts(2).build().expect("within bounds");
    let (mut call, _) = Retry::start(&policy, Call::once(), at(0));
    let (_, step) = through_json(call.save(at(0))).resume(&policy, at(0));
    assert!(
        matches!(step, Step::Act(Action::Done(done)) if done.stop == Stop::NotIdempotent),
        "{step:?}"
    );
    // Between two attempts nothing is in doubt.
    let _ = call.on_outcome(&policy, at(0), &Outcome::new(Verdict::Unprocessed), &mut Mix::new(1));
    let _ = call.on_permit(&policy, at(0), Permit::Granted);
    let (mut call, step) = through_json(call.save(at(0))).resume(&policy, at(0));
    assert_eq!(step, Step::Act(Action::Wait(Wait::Until(at(1)))));
    assert!(
        matches!(call.on_wake(&policy, at(1)), Step::Act(Action::Attempt(attempt)) if attempt.number == 2)
    );

    let (mut call, _) = Retry::start(&policy, Call::idempotent(), at(0));
    let _ = call.on_outcome(&policy, at(0), &FAILED, &mut Mix::new(1));
    let _ = call.on_wake(&policy, at(1));
    let (_, step) = through_json(call.save(at(1))).resume(&policy, at(0));
    assert!(
        matches!(step, Step::Act(Action::Done(done)) if done.stop == Stop::AttemptsExhausted),
        "{step:?}"
    );
}
