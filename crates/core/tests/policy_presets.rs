//! The ready policies: how long a call under each can take at worst.

use stagger_core::retry::{Action, Call, Done, PlainLedger, Session, Stop, Wait};
use stagger_core::{ConfigError, Hint, Instant, Outcome, Policy, Span, Verdict};
use stagger_testkit::highest;

/// A call whose attempts all come to `outcome` after `each`, or when their time runs out; every
/// draw is the longest.
fn worst(policy: &Policy, each: Span, outcome: &Outcome) -> Done {
    let (mut ledger, mut now) = (PlainLedger::new(policy), Instant::ORIGIN);
    let (mut call, mut act) = Session::start(policy, &mut ledger, Call::idempotent(), now);
    loop {
        act = match act {
            Action::Attempt(launched) | Action::Hedge(launched) => {
                now = now + launched.attempt.timeout.map_or(each, |limit| limit.min(each));
                call.on_outcome(&mut ledger, now, launched, outcome, &mut highest())
            }
            Action::Wait(Wait::Until(at)) => {
                now = at;
                call.on_wake(&mut ledger, now)
            }
            Action::Wait(Wait::Copies { .. }) => unreachable!("no preset hedges"),
            Action::Done(done) => return done,
        };
    }
}

fn refused(policy: &Policy) -> (Stop, u32, Span) {
    figures(worst(policy, Span::ZERO, &Outcome::new(Verdict::Transient)))
}

fn hanging(policy: &Policy) -> (Stop, u32, Span) {
    figures(worst(policy, Span::MAX, &Outcome::new(Verdict::Transient)))
}

fn asked_to_wait(policy: &Policy, secs: u64) -> Done {
    let hint = Hint::AtLeast(Span::from_secs(secs));
    worst(policy, Span::ZERO, &Outcome::new(Verdict::Throttled).with_hint(hint))
}

const fn figures(done: Done) -> (Stop, u32, Span) {
    (done.stop, done.attempts, done.elapsed)
}

const fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

#[test]
fn google_cloud_gives_up_within_two_minutes() -> Result<(), ConfigError> {
    let policy = Policy::google_cloud();
    assert_eq!(refused(&policy), (Stop::DeadlineExceeded, 7, secs(63)));
    assert_eq!(hanging(&policy), (Stop::DeadlineExceeded, 2, secs(120)));
    Ok(())
}

#[test]
fn google_clouds_ceilings_are_those_of_its_own_clients() -> Result<(), ConfigError> {
    let policy = Policy::google_cloud();
    let ceilings: Vec<_> = (1..=8).map(|k| policy.backoff().ceiling(k)).collect();
    assert_eq!(ceilings, [1, 2, 4, 8, 16, 32, 60, 60].map(secs));
    Ok(())
}

#[test]
fn a_webhook_is_tried_for_as_long_and_as_often_as_the_standard_schedule() -> Result<(), ConfigError>
{
    let hour = 3_600;
    let schedule =
        [5, 5 * 60, 30 * 60, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
    let policy = Policy::webhook();
    let attempts = u32::try_from(schedule.len() + 1).expect("ten");
    assert_eq!(refused(&policy), (Stop::AttemptsExhausted, attempts, secs(270_455)));
    let standard: u64 = schedule.iter().sum();
    assert_eq!(standard, 272_105);
    assert!(standard.abs_diff(270_455) * 100 < standard, "within 1 % of the standard's span");
    assert_eq!(policy.backoff().ceiling(1), secs(schedule[0]));
    assert_eq!(policy.backoff().ceiling(9), secs(schedule[8]));
    assert_eq!(hanging(&policy).2, secs(270_455 + 10 * 30));
    Ok(())
}

#[test]
fn a_webhook_is_not_lost_to_an_endpoint_that_asks_for_a_week() -> Result<(), ConfigError> {
    let done = asked_to_wait(&Policy::webhook(), 7 * 24 * 3_600);
    assert_eq!((done.stop, done.attempts), (Stop::AttemptsExhausted, 10));
    assert_eq!(done.elapsed, secs(9 * (24 * 3_600 + 30)), "a day each, and the spread");
    Ok(())
}

#[test]
fn a_person_waits_three_seconds_at_most() -> Result<(), ConfigError> {
    let policy = Policy::interactive();
    assert_eq!(refused(&policy), (Stop::AttemptsExhausted, 3, Span::from_millis(150)));
    assert_eq!(hanging(&policy), (Stop::AttemptsExhausted, 3, secs(3)));
    let done = asked_to_wait(&policy, 2);
    assert_eq!(figures(done), (Stop::HintTooLong, 1, Span::ZERO));
    assert_eq!(done.hint, Some(secs(2)), "and the person can be told");
    Ok(())
}

#[test]
fn a_batch_goes_on_for_an_hour_at_most() -> Result<(), ConfigError> {
    let policy = Policy::batch();
    assert_eq!(refused(&policy), (Stop::AttemptsExhausted, 20, secs(3_511)));
    let (stop, attempts, elapsed) = hanging(&policy);
    assert_eq!(stop, Stop::DeadlineExceeded);
    assert!(elapsed <= secs(3_600) && attempts > 10, "{attempts} in {elapsed}");
    assert_eq!(asked_to_wait(&policy, 15 * 60 + 1).stop, Stop::HintTooLong);
    Ok(())
}

#[test]
fn grpc_is_the_service_config_of_its_own_proposal() -> Result<(), ConfigError> {
    let policy = Policy::grpc();
    let ceilings: Vec<_> = (1..=5).map(|k| policy.backoff().ceiling(k)).collect();
    assert_eq!(ceilings, [100, 200, 400, 800, 1_000].map(Span::from_millis));
    assert_eq!(refused(&policy), (Stop::AttemptsExhausted, 4, Span::from_millis(840)));
    Ok(())
}

#[test]
fn dynamodb_had_the_delays_of_slower_services() {
    let policy = Policy::aws_dynamodb();
    let ceilings: Vec<_> = (1..=3).map(|k| policy.backoff().ceiling(k)).collect();
    assert_eq!(ceilings, [25, 50, 100].map(Span::from_millis));
    assert_eq!(refused(&policy), (Stop::AttemptsExhausted, 4, Span::from_millis(175)));
    let general = Policy::aws_standard_2_1();
    assert_eq!(policy.throttled_backoff(), general.throttled_backoff());
    assert_eq!((policy.budget(), policy.hints()), (general.budget(), general.hints()));
}

#[test]
fn every_name_of_a_preset_leads_to_one() {
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).expect("a name of the list");
        assert_eq!(Policy::preset(&name.replace('_', "-")), Ok(policy));
    }
    let unknown = Policy::preset("grcp").expect_err("a slip");
    assert!(unknown.bound().contains("aws_standard, aws_standard_2_0"), "{unknown}");
}
