//! The deliveries of a queue's message under a policy.

use proptest::prelude::*;
use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::hint::WallTime;
use stagger::{
    Backoff, ConfigError, Hint, HintRule, Jitter, LongHint, NextDelivery, Outcome, Policy,
    PolicyBuilder, Ratio, Received, Redelivery, Remedy, Rng, Span, Stop, Verdict,
};

type Done = Result<(), ConfigError>;

const FAILED: Outcome = Outcome::new(Verdict::Transient);
const HOUR: Span = Span::from_secs(3_600);

/// Delays of 10, 20, 40, ... seconds.
fn doubling() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(10), Span::from_secs(100_000))?;
    Ok(Policy::builder().backoff(backoff.with_jitter(Jitter::None)?))
}

fn after(queue: &Redelivery, message: Received, outcome: &Outcome) -> NextDelivery {
    queue.after(&message, outcome, &mut Rng::with_seed(1))
}

#[test]
fn delays_grow_with_the_deliveries_until_the_last() -> Done {
    // Neither a spent budget nor a breaker is between a queue and its consumer.
    let breaker = BreakerPlan::builder().build()?;
    for policy in [doubling()?, doubling()?.budget(BudgetPlan::None), doubling()?.breaker(breaker)]
    {
        let queue = Redelivery::new(policy.max_attempts(4).build()?);
        let next = |number| after(&queue, Received::new(number), &FAILED);
        assert_eq!(
            [1, 2, 3].map(next),
            [10, 20, 40].map(|s| NextDelivery::After(Span::from_secs(s)))
        );
        let exhausted = NextDelivery::Dead(Stop::AttemptsExhausted);
        assert_eq!([4, 5, u32::MAX].map(next), [exhausted; 3]);
        assert_eq!(next(0), next(1), "a queue that counts from 0");
    }
    Ok(())
}

#[test]
fn a_message_that_was_processed_was_delivered_again() -> Done {
    let queue = Redelivery::new(doubling()?.max_attempts(2).deadline(HOUR).build()?);
    let late = Received::new(9).first_received(HOUR + HOUR);
    assert_eq!(after(&queue, late, &Outcome::OK), NextDelivery::Done);
    let cancelled = Outcome::new(Verdict::Cancelled);
    assert_eq!(after(&queue, Received::new(1), &cancelled), NextDelivery::After(Span::ZERO));
    let permanent = Outcome::new(Verdict::Permanent);
    assert_eq!(after(&queue, Received::new(1), &permanent), NextDelivery::Dead(Stop::Permanent));
    let unauthorised = FAILED.with_remedy(Remedy::RefreshAuth);
    let waits = NextDelivery::After(Span::from_secs(10));
    assert_eq!(
        after(&queue, Received::new(1), &unauthorised),
        waits,
        "another consumer may have it"
    );
    Ok(())
}

#[test]
fn the_deadline_counts_from_the_first_receipt() -> Done {
    let queue = Redelivery::new(doubling()?.max_attempts(99).deadline(HOUR).build()?);
    let dead = NextDelivery::Dead(Stop::DeadlineExceeded);
    for (secs, delay) in [(0, Some(10)), (3_589, Some(10)), (3_590, None), (3_600, None)] {
        let message = Received::new(1).first_received(Span::from_secs(secs));
        let expected = delay.map_or(dead, |delay| NextDelivery::After(Span::from_secs(delay)));
        assert_eq!(after(&queue, message, &FAILED), expected, "{secs} s");
    }
    let message = |age| Received::new(7).first_received(age);
    assert_eq!(queue.refuses(&message(HOUR)), Some(Stop::DeadlineExceeded));
    assert_eq!(queue.refuses(&message(Span::from_secs(3_599))), None);
    assert_eq!(queue.refuses(&Received::new(100)), Some(Stop::AttemptsExhausted));
    Ok(())
}

#[test]
fn sqs_refused_a_visibility_beyond_its_longest() -> Done {
    let policy = doubling()?.max_attempts(99).build()?;
    let (queue, twelve) = (Redelivery::sqs(policy), Span::from_secs(43_200));
    let last = |held| after(&queue, Received::new(30).held(held), &FAILED);
    assert_eq!(last(Span::ZERO), NextDelivery::After(twelve));
    assert_eq!(last(Span::from_secs(200)), NextDelivery::After(Span::from_secs(43_000)));
    assert_eq!(last(twelve), NextDelivery::After(Span::ZERO));
    let short = Redelivery::new(policy).longest_delay(std::time::Duration::from_secs(900));
    let capped = NextDelivery::After(Span::from_secs(900));
    assert_eq!(after(&short, Received::new(30), &FAILED), capped, "SendMessage has 15 minutes");
    Ok(())
}

#[test]
fn a_hint_was_shorter_in_the_queue_than_in_the_process() -> Done {
    let hints = HintRule::new(HOUR, Ratio::ZERO, LongHint::Stop)?;
    let queue = Redelivery::new(doubling()?.hints(hints).max_attempts(99).build()?);
    let hinted = |hint| after(&queue, Received::new(1), &FAILED.with_hint(hint));
    assert_eq!(
        hinted(Hint::AtLeast(Span::from_secs(300))),
        NextDelivery::After(Span::from_secs(300))
    );
    assert_eq!(hinted(Hint::AtLeast(HOUR + HOUR)), NextDelivery::Dead(Stop::HintTooLong));
    assert_eq!(hinted(Hint::Never), NextDelivery::Dead(Stop::HintForbids));
    Ok(())
}

#[test]
fn attributes_of_sqs_are_numbers_or_nothing() {
    let now = WallTime::from_unix_secs(1_771_404_480);
    let read = |count, first| Received::sqs(count, first, now);
    let minute = Span::from_secs(60);
    assert_eq!(read("3", "1771404420000"), Some(Received::new(3).first_received(minute)));
    assert_eq!(read("1", "1771404481000"), Some(Received::new(1)), "clocks that differ");
    assert_eq!(read("99999999999999999999999", "0").map(|read| read.number()), Some(u32::MAX));
    for (count, first) in [("", "1"), ("1", ""), ("+1", "1"), ("1.0", "1"), ("1", "-1"), ("x", "1")]
    {
        assert_eq!(read(count, first), None, "{count:?} {first:?}");
    }
    assert_eq!(Received::after_failed("4294967295").map(|next| next.number()), Some(u32::MAX));
    assert_eq!(Received::after_failed("two"), None);
}

#[test]
fn consumers_of_one_outage_came_back_together() -> Done {
    let backoff = Backoff::exponential(Span::from_secs(10), HOUR)?;
    let cases = [1, 4].map(|number| [Jitter::Full, Jitter::Decorrelated].map(|law| (number, law)));
    for (number, jitter) in cases.into_iter().flatten() {
        let policy = Policy::builder().backoff(backoff.with_jitter(jitter)?).max_attempts(9);
        let (queue, message) = (Redelivery::new(policy.build()?), Received::new(number));
        let mut delays: Vec<_> = (0..1_000)
            .map(|seed| match queue.after(&message, &FAILED, &mut Rng::with_seed(seed)) {
                NextDelivery::After(delay) => delay,
                other => panic!("{other:?}"),
            })
            .collect();
        delays.sort();
        let longest = backoff.with_jitter(jitter)?.range(number).1;
        assert!(delays[999] <= longest, "{jitter:?}: {}", delays[999]);
        let half_a_share = Span::from_nanos(longest.as_nanos() / 20);
        let closest = (0..900).map(|at| delays[at + 100] - delays[at]).min();
        assert!(closest > Some(half_a_share), "{jitter:?}: a tenth of all within {closest:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_delay_is_within_the_policy_and_the_queue(
        (number, attempts) in (0..50_u32, 1..50_u32),
        (age, deadline, held) in (0..200_000_u64, 1..200_000_u64, 0..90_000_u64),
        seed: u64,
    ) {
        let policy = Policy::builder().max_attempts(attempts).deadline(Span::from_secs(deadline));
        let queue = Redelivery::sqs(policy.build().expect("valid"));
        let [age, deadline, held] = [age, deadline, held].map(Span::from_secs);
        let message = Received::new(number).first_received(age).held(held);
        let next = queue.after(&message, &FAILED, &mut Rng::with_seed(seed));
        match next {
            NextDelivery::After(delay) => {
                prop_assert!(message.number() < attempts);
                prop_assert!(age + delay < deadline);
                prop_assert!(delay + held <= Span::from_secs(43_200) || delay == Span::ZERO);
                prop_assert_eq!(queue.refuses(&message), None);
            }
            _ => prop_assert!(message.number() >= attempts || age + Span::from_secs(10) >= deadline),
        }
    }
}
