//! Tokens, throttle and intervals under random use, against naive models.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger_core::budget::{
    Budget, Charge, IntervalPlan, Paid, Settled, ThrottlePlan, TokenPlan, TokenState,
};
use stagger_core::{Instant, Ratio, Span};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

#[derive(Clone, Debug)]
enum Event {
    Ask(Charge),
    Refund(usize),
    FirstTry,
    AfterRetry(usize),
    Failed,
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    use Charge::{Hedge, Retry, Throttled, Timeout};
    let charge = prop::sample::select(vec![Retry, Timeout, Throttled, Hedge]);
    let event = prop_oneof![
        4 => charge.prop_map(Event::Ask),
        2 => any::<usize>().prop_map(Event::Refund),
        1 => Just(Event::FirstTry),
        1 => any::<usize>().prop_map(Event::AfterRetry),
        2 => Just(Event::Failed),
        2 => (0..20 * SECOND).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 1..300)
}

/// Small buckets of unequal prices, so that both ends are met.
fn buckets() -> impl Strategy<Value = TokenPlan> {
    (10..60_u32, 1..=10_u32, 1..=10_u32, 1..=10_u32, 0..=10_u32).prop_map(
        |(capacity, retry, timeout, hedge, initial)| {
            TokenPlan::new(capacity, retry)
                .and_then(|plan| {
                    plan.with_timeout(timeout)?.with_hedge(hedge)?.with_initial(initial)
                })
                .expect("within bounds")
        },
    )
}

fn seeded() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(6),
        ..ProptestConfig::with_cases(256)
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_bucket_overdrew_or_overflowed(plan in buckets(), events in events()) {
        let mut budget = Budget::new(plan.into());
        let (now, capacity) = (Instant::ORIGIN, u64::from(plan.capacity()));
        let mut tokens = u64::from(plan.initial());
        let mut held: Vec<Paid> = vec![];
        for event in events {
            match event {
                Event::Ask(charge) => {
                    let cost = u64::from(plan.cost(charge));
                    let paid = budget.ask(now, charge);
                    prop_assert_eq!(paid.is_some(), cost <= tokens);
                    tokens -= paid.map_or(0, |paid| u64::from(paid.amount()));
                    held.extend(paid);
                }
                Event::Refund(pick) if !held.is_empty() => {
                    let paid = held.swap_remove(pick % held.len());
                    budget.refund(now, paid);
                    tokens = (tokens + u64::from(paid.amount())).min(capacity);
                }
                Event::AfterRetry(pick) if !held.is_empty() => {
                    let paid = held.swap_remove(pick % held.len());
                    budget.on_settled(now, Settled::AfterRetry(paid));
                    tokens = (tokens + u64::from(paid.amount())).min(capacity);
                }
                Event::FirstTry => {
                    budget.on_settled(now, Settled::FirstTry);
                    tokens = (tokens + 1).min(capacity);
                }
                Event::Failed => budget.on_settled(now, Settled::Failed),
                _ => {}
            }
            prop_assert_eq!(budget.level(now).held, tokens);
        }
    }

    #[test]
    fn a_throttle_left_its_bounds(
        max in 1..=20_u32,
        ppm in 1_000..3_000_000_u32,
        events in events(),
    ) {
        let mut budget = Budget::new(ThrottlePlan::new(max, Ratio::from_ppm(ppm)).unwrap().into());
        let now = Instant::ORIGIN;
        let most = u64::from(max) * 1_000;
        let mut count = most;
        for event in events {
            match event {
                Event::Failed | Event::Wait(_) => {
                    budget.on_settled(now, Settled::Failed);
                    count = count.saturating_sub(1_000);
                }
                Event::FirstTry | Event::AfterRetry(_) => {
                    budget.on_settled(now, Settled::AfterRetry(Paid::FREE));
                    count = (count + u64::from(ppm / 1_000)).min(most);
                }
                Event::Ask(_) | Event::Refund(_) => {}
            }
            prop_assert_eq!(budget.ask(now, Charge::Retry).is_some(), 2 * count > most);
            prop_assert_eq!(budget.level(now).held, count);
        }
    }

    #[test]
    fn an_interval_held_more_than_its_retries(
        n in 1..=16_u8,
        seconds in 1..=60_u64,
        events in events(),
    ) {
        let plan = IntervalPlan::new(n, Span::from_secs(seconds)).unwrap();
        let mut budget = Budget::new(plan.into());
        let mut now = 0;
        // Every grant that was not refunded, with its time.
        let mut granted: Vec<(Paid, u64)> = vec![];
        for event in events {
            match event {
                Event::Ask(charge) => {
                    let young = |then: u64| now - then < seconds * SECOND;
                    let live = granted.iter().filter(|(_, then)| young(*then)).count();
                    let paid = budget.ask(at(now), charge);
                    prop_assert_eq!(paid.is_some(), live < usize::from(n));
                    granted.extend(paid.map(|paid| (paid, now)));
                }
                Event::Refund(pick) if !granted.is_empty() => {
                    let (paid, _) = granted.swap_remove(pick % granted.len());
                    budget.refund(at(now), paid);
                }
                Event::Wait(nanos) => now += nanos,
                _ => {}
            }
        }
    }
}

#[test]
fn a_word_from_elsewhere_overflowed_a_bucket() {
    let plan = TokenPlan::aws_2_0();
    let state = plan.on_settled(TokenState::from_bits(u64::MAX), Settled::FirstTry);
    assert_eq!(state.tokens(), 500);
}

#[test]
fn a_late_refund_freed_the_place_of_a_later_grant() {
    let plan = IntervalPlan::new(1, Span::from_secs(30)).unwrap();
    let mut budget = Budget::new(plan.into());
    let old = budget.ask(at(0), Charge::Retry).unwrap();
    assert!(budget.ask(at(30 * SECOND), Charge::Retry).is_some());
    budget.refund(at(31 * SECOND), old);
    assert!(budget.ask(at(31 * SECOND), Charge::Retry).is_none());
}

#[test]
fn a_clock_set_back_blocked_a_segment_until_it_caught_up() {
    let plan = IntervalPlan::new(1, Span::from_secs(30)).unwrap();
    let mut budget = Budget::new(plan.into());
    assert!(budget.ask(at(HOUR), Charge::Retry).is_some());
    assert!(budget.ask(at(SECOND), Charge::Retry).is_none(), "no time has passed");
    assert!(budget.ask(at(31 * SECOND), Charge::Retry).is_some());
}

#[test]
fn settings_that_are_no_interval_were_accepted() {
    let field = |n, secs| IntervalPlan::new(n, Span::from_secs(secs)).unwrap_err().field();
    assert_eq!(field(0, 30), "budget.retries");
    assert_eq!(field(17, 30), "budget.retries");
    assert_eq!(field(1, 0), "budget.interval");
}
