//! Public bugs of one call: clocks, hints, deadlines. Each test is named by what went wrong.

use stagger_core::retry::{Action, Call, PlainLedger, Retry, Session, Step, Stop, Wait};
use stagger_core::{
    Backoff, Hint, HintRule, Instant, Jitter, LongHint, Outcome, Policy, Ratio, Span, Verdict,
};
use stagger_testkit::{Mix, highest, lowest};

use crate::script::{FAILED, Script, THROTTLED, at, doubling, secs};

const HOUR: Span = Span::from_secs(3_600);

// apache/pinot PR 2711, dotnet/orleans PR 914.
#[test]
fn a_policy_shared_by_two_calls_began_the_second_where_the_first_had_ended() {
    let policy = doubling().max_attempts(10).build().expect("within bounds");
    let (mut a, _) = Retry::start(&policy, Call::idempotent(), at(0));
    let mut now = at(0);
    for _ in 0..5 {
        let Step::Act(Action::Wait(Wait::Until(wake))) =
            a.on_outcome(&policy, now, &FAILED, &mut highest())
        else {
            panic!("attempts are left")
        };
        now = wake;
        assert!(matches!(a.on_wake(&policy, now), Step::Act(Action::Attempt(_))));
    }
    assert_eq!(a.last_delay(), secs(16));
    for policy in [&policy, &policy.clone()] {
        let (mut b, _) = Retry::start(policy, Call::idempotent(), now);
        let step = b.on_outcome(policy, now, &FAILED, &mut highest());
        assert_eq!(step, Step::Act(Action::Wait(Wait::Until(now + secs(1)))));
    }
}

// failsafe-lib/failsafe #97, avast/retry-go #127 and #137, restatedev/restate PR 3774.
#[test]
fn three_attempts_meant_four_calls_or_waits_of_two_and_four_seconds() {
    let policy = doubling().max_attempts(3).build().expect("within bounds");
    let run = Script::new(&policy).run(&[FAILED]);
    assert_eq!(run.starts, [secs(0), secs(1), secs(3)]);
    assert_eq!((run.done.stop, run.done.attempts), (Stop::AttemptsExhausted, 3));
    let once = doubling().max_attempts(1).build().expect("within bounds");
    assert_eq!(Script::new(&once).run(&[FAILED]).starts, [secs(0)]);
}

// CrossPaste/crosspaste-desktop #4547, rohanpm/more-executors PR 39.
#[test]
fn a_clock_set_back_by_an_hour_made_an_hour_of_a_limit_of_one_second() {
    let delay = Backoff::constant(Span::from_millis(100)).with_jitter(Jitter::None);
    let policy = doubling().backoff(delay.expect("a law")).deadline(secs(1)).max_attempts(9);
    let policy = policy.build().expect("within bounds");
    let (mut call, _) = Retry::start(&policy, Call::idempotent(), Instant::ORIGIN + HOUR + HOUR);
    let back = Instant::ORIGIN + HOUR;
    let Step::Act(Action::Wait(Wait::Until(wake))) =
        call.on_outcome(&policy, back, &FAILED, &mut highest())
    else {
        panic!("there is time for a retry")
    };
    assert_eq!(wake - back, Span::from_millis(100));
    let Step::Act(Action::Attempt(attempt)) = call.on_wake(&policy, wake) else {
        panic!("the wait is over")
    };
    assert_eq!(attempt.timeout, Some(secs(1)), "a negative difference counts as none");
    assert_eq!(call.elapsed(wake), Span::ZERO);
}

#[test]
fn a_laptop_woke_up_and_sent_all_the_attempts_it_had_missed() {
    for (deadline, stop) in [(None, None), (Some(secs(60)), Some(Stop::DeadlineExceeded))] {
        let mut builder = doubling().max_attempts(9);
        if let Some(deadline) = deadline {
            builder = builder.deadline(deadline);
        }
        let policy = builder.build().expect("within bounds");
        let (mut call, _) = Retry::start(&policy, Call::idempotent(), at(0));
        let _ = call.on_outcome(&policy, at(0), &FAILED, &mut highest());
        let morning = at(8 * 3_600);
        match (call.on_wake(&policy, morning), stop) {
            (Step::Act(Action::Done(done)), Some(stop)) => assert_eq!(done.stop, stop),
            (Step::Act(Action::Attempt(attempt)), None) => {
                assert_eq!(attempt.number, 2);
                let step = call.on_outcome(&policy, morning, &FAILED, &mut highest());
                assert_eq!(
                    step,
                    Step::Act(Action::Wait(Wait::Until(morning + secs(2)))),
                    "no second one"
                );
            }
            (step, _) => panic!("{deadline:?}: {step:?}"),
        }
    }
}

/// The first delay after a failure with this hint, under a rule without spread.
fn delay_under(hint: Span, own: Span) -> Span {
    let rule = HintRule::new(secs(60), Ratio::ZERO, LongHint::Stop).expect("no spread");
    let backoff = Backoff::constant(own).with_jitter(Jitter::None).expect("a law");
    let policy = doubling().backoff(backoff).hints(rule).max_attempts(2).build();
    let run = Script::new(&policy.expect("within bounds"))
        .run(&[THROTTLED.with_hint(Hint::AtLeast(hint))]);
    run.starts[1]
}

// will-ockmore/httpx-retries #13, urllib3/urllib3 #1896, curl/curl PR 12871.
#[test]
fn a_short_hint_shortened_the_own_delay() {
    assert_eq!(delay_under(secs(0), secs(2)), secs(2), "a past date");
    assert_eq!(delay_under(secs(1), secs(8)), secs(8));
    assert_eq!(delay_under(secs(9), secs(8)), secs(9));
    assert_eq!(delay_under(Span::from_millis(500), Span::ZERO), Span::from_millis(500));
}

// hashicorp/go-retryablehttp PR 283, cline/cline PR 10384, urllib3/urllib3 #1338.
#[test]
fn a_hint_of_days_was_slept_through() {
    let policy = doubling().build().expect("within bounds");
    for hint in [3_600, 10_800, 86_400, 999_999].map(secs) {
        for outcome in [THROTTLED, FAILED].map(|o| o.with_hint(Hint::AtLeast(hint))) {
            let run = Script::new(&policy).run(&[outcome]);
            assert_eq!(run.done.stop, Stop::HintTooLong);
            assert_eq!((run.starts.len(), run.done.elapsed), (1, Span::ZERO));
            assert_eq!(run.done.hint, Some(hint), "so that the caller can reschedule");
        }
    }
    let shorten = HintRule::new(secs(60), Ratio::ZERO, LongHint::Shorten).expect("no spread");
    let policy = doubling().hints(shorten).max_attempts(2).build().expect("within bounds");
    let run = Script::new(&policy).run(&[THROTTLED.with_hint(Hint::AtLeast(HOUR))]);
    assert_eq!(run.starts, [secs(0), secs(60)], "only when asked for");
}

// curl/curl #7675 and PR 7676, cenkalti/backoff #159.
#[test]
fn a_hint_past_the_deadline_was_slept_through_or_ended_without_a_reason() {
    let week = HintRule::new(secs(604_800), Ratio::ONE, LongHint::Stop).expect("a ratio of one");
    for (hint, deadline) in [(secs(86_400), secs(10)), (secs(1_800), secs(900)), (secs(9), secs(9))]
    {
        let policy = doubling().hints(week).deadline(deadline).build().expect("within bounds");
        let run = Script::new(&policy).run(&[THROTTLED.with_hint(Hint::AtLeast(hint))]);
        assert_eq!(run.done.stop, Stop::HintPastDeadline);
        assert_eq!((run.starts.len(), run.done.elapsed), (1, Span::ZERO));
        assert_eq!(run.done.hint, Some(hint));
    }
}

#[test]
fn the_spread_of_a_hint_ran_past_the_deadline_that_the_hint_met() {
    let policy = doubling().deadline(secs(12)).min_attempt_time(secs(1)).max_attempts(2);
    let policy = policy.build().expect("within bounds");
    let run = Script::new(&policy).run(&[THROTTLED.with_hint(Hint::AtLeast(secs(10)))]);
    assert_eq!(run.starts, [secs(0), secs(11)], "10 s, and of the spread what leaves a second");
    assert_eq!(run.timeouts[1], Some(secs(1)));
}

// electric-sql/electric #4322, microsoft/libHttpClient PR 522, letsencrypt/boulder #8558.
#[test]
fn ten_thousand_clients_woke_at_the_instant_of_the_hint() {
    let own = Backoff::constant(secs(32)); // drawn from 0..32 s
    let hint = THROTTLED.with_hint(Hint::AtLeast(secs(60)));
    // 10 000 calls over the spread put 167 and 33 into a slot on average.
    for (percent, average) in [(10, 167.0_f64), (50, 33.3)] {
        let rule = HintRule::new(secs(60), Ratio::from_percent(percent), LongHint::Stop);
        let policy = doubling().backoff(own).hints(rule.expect("a valid spread")).max_attempts(2);
        let policy = policy.build().expect("within bounds");
        let mut entropy = Mix::new(7);
        let mut slots = vec![0_u32; 400];
        for _ in 0..10_000 {
            let run = Script::new(&policy).call(Call::idempotent(), &[hint], &mut entropy);
            let late = (run.starts[1].as_nanos()).checked_sub(secs(60).as_nanos());
            let slot = late.expect("never below the hint") / 100_000_000;
            slots[usize::try_from(slot).expect("within the spread")] += 1;
        }
        let busiest = f64::from(slots.into_iter().max().unwrap_or_default());
        assert!(busiest < average + 5.0 * average.sqrt(), "{percent} %: {busiest}");
    }
}

// curl/curl #6408, acmesh-official/acme.sh #7201.
#[test]
fn the_hint_was_read_on_the_path_of_success_only() {
    let policy = doubling().max_attempts(2).build().expect("within bounds");
    let failed = THROTTLED.with_hint(Hint::AtLeast(secs(20)));
    let run = Script::new(&policy).call(Call::idempotent(), &[failed], &mut lowest());
    assert_eq!(run.starts, [secs(0), secs(20)]);
    assert_eq!(run.done.hint, Some(secs(20)));
    let ok = Outcome::OK.with_hint(Hint::AtLeast(secs(20)));
    let run = Script::new(&policy).run(&[ok]);
    assert_eq!((run.done.stop, run.starts.len()), (Stop::Succeeded, 1), "no retry of a success");
}

// grpc/proposal, A6: pushback is exact, and the backoff starts over afterwards.
#[test]
fn pushback_was_taken_for_a_lower_bound_and_the_exponent_went_on() {
    let policy = doubling().max_attempts(6).build().expect("within bounds");
    let pushed = |ms| FAILED.with_hint(Hint::Exactly(Span::from_millis(ms)));
    let script = [FAILED, FAILED, pushed(250), FAILED, pushed(0), FAILED];
    let run = Script::new(&policy).run(&script);
    let starts = [0, 1_000, 3_000, 3_250, 4_250, 4_250].map(Span::from_millis);
    assert_eq!(run.starts, starts, "waits of 1 s, 2 s, 250 ms, again 1 s, and nothing");
    assert_eq!(run.done.stop, Stop::AttemptsExhausted, "pushback does not add attempts");
}

#[test]
fn pushback_that_says_no_was_taken_for_no_pushback() {
    let policy = doubling().max_attempts(4).build().expect("within bounds");
    for verdict in [Verdict::Transient, Verdict::Throttled, Verdict::Unprocessed] {
        let run = Script::new(&policy).run(&[Outcome::new(verdict).with_hint(Hint::Never)]);
        assert_eq!((run.done.stop, run.starts.len()), (Stop::HintForbids, 1));
        assert_eq!(run.done.hint, None);
    }
}

#[test]
fn a_call_that_got_on_bit_by_bit_ran_out_of_attempts() {
    let policy = doubling().max_attempts(3).build().expect("within bounds");
    let some = FAILED.with_progress();
    let run = Script::new(&policy).run(&[FAILED, FAILED.with_progress(), some, FAILED, FAILED]);
    let starts = [0, 1, 2, 3, 5, 9].map(secs);
    assert_eq!(run.starts, starts, "delays of 1 s, and anew 1, and anew 1, 2 and 4 s");
    assert_eq!((run.done.stop, run.done.attempts), (Stop::AttemptsExhausted, 3));
}

// ihrwein/backoff #42 and PR 43, jd/tenacity PR 423.
#[test]
fn the_last_sleep_led_to_no_attempt() {
    let policy = doubling().unlimited_attempts().deadline(secs(5)).build().expect("within bounds");
    let run = Script::new(&policy).run(&[FAILED]);
    assert_eq!(run.starts, [secs(0), secs(1), secs(3)]);
    assert_eq!((run.done.stop, run.done.elapsed), (Stop::DeadlineExceeded, secs(3)));
    // A start in the very last instant has no time left, and is none.
    let policy = doubling().unlimited_attempts().deadline(secs(3)).build().expect("within bounds");
    assert_eq!(Script::new(&policy).run(&[FAILED]).starts, [secs(0), secs(1)]);
    let policy = doubling().unlimited_attempts().deadline(secs(5)).min_attempt_time(secs(2));
    let policy = policy.build().expect("within bounds");
    assert_eq!(Script::new(&policy).run(&[FAILED]).starts.len(), 3, "2 s are just enough");
    let policy = doubling().unlimited_attempts().deadline(secs(5)).min_attempt_time(secs(3));
    let policy = policy.build().expect("within bounds");
    assert_eq!(Script::new(&policy).run(&[FAILED]).starts.len(), 2);
}

// PostHog/terraform-provider-posthog PR 157.
#[test]
fn one_limit_around_the_loop_gave_all_its_time_to_the_first_attempt() {
    let policy = doubling().max_attempts(9).deadline(secs(100)).attempt_timeout(secs(30));
    let policy = policy.build().expect("within bounds");
    let mut script = Script { took: secs(30), ..Script::new(&policy) };
    let run = script.run(&[FAILED]);
    assert_eq!(run.starts, [secs(0), secs(31), secs(63), secs(97)]);
    let limits = [30, 30, 30, 3].map(|n| Some(secs(n)));
    assert_eq!(run.timeouts, limits, "the last attempt gets what is left");
}

#[test]
fn an_event_that_did_not_fit_moved_the_call_on() {
    let policy = doubling().build().expect("within bounds");
    let mut ledger = PlainLedger::new(&policy);
    let (mut call, act) = Session::start(&policy, &mut ledger, Call::idempotent(), at(0));
    let Action::Attempt(first) = act else { panic!("nothing stands before the first attempt") };
    let running = call.on_wake(&mut ledger, at(0));
    assert_eq!(running, Action::Wait(Wait::Copies { hedge_at: None }));
    let wait = call.on_outcome(&mut ledger, at(0), first, &FAILED, &mut highest());
    assert_eq!(wait, Action::Wait(Wait::Until(at(1))));
    let before = *call.retry();
    assert_eq!(call.on_wake(&mut ledger, at(0)), wait, "too early");
    assert_eq!(call.on_outcome(&mut ledger, at(0), first, &Outcome::OK, &mut highest()), wait);
    assert_eq!(*call.retry(), before);
    let Action::Done(done) = call.cancel(&mut ledger, at(0)) else { panic!("cancelled") };
    for act in [call.on_wake(&mut ledger, at(9)), call.cancel(&mut ledger, at(9))] {
        assert!(matches!(act, Action::Done(again) if again.stop == done.stop));
    }
}

#[test]
fn the_state_of_a_call_outgrew_a_cache_line() {
    assert!(size_of::<Retry>() <= 64, "{}", size_of::<Retry>());
}

#[test]
fn a_policy_was_not_what_its_builder_held() {
    let policy = Policy::aws_standard_2_1();
    assert_eq!(policy.to_builder().build(), Ok(policy));
    let all = doubling()
        .throttled_backoff(Backoff::constant(secs(9)))
        .unlimited_attempts()
        .deadline(secs(50))
        .attempt_timeout(secs(8))
        .min_attempt_time(secs(1))
        .wait_for_breaker(true)
        .pause_when_empty(true)
        .build()
        .expect("within bounds");
    assert_eq!(all.to_builder().build(), Ok(all));
}
