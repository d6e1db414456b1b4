//! Public bugs of budgets, each a test named by what went wrong.

use stagger_core::budget::{
    Budget, BudgetPlan, Charge, FloorRate, IntervalPlan, Paid, Settled, ThrottlePlan, TokenPlan,
    WindowPlan,
};
use stagger_core::{Instant, Rate, Ratio, Span};

const NOW: Instant = Instant::ORIGIN;

/// A window of one second, so that the floor in it is the floor a second.
fn window(percent: u32, floor: FloorRate) -> Budget {
    let plan = WindowPlan::new(Ratio::from_percent(percent)).expect("within bounds");
    Budget::new(
        plan.with_window(Span::from_secs(1))
            .expect("within bounds")
            .with_floor(floor)
            .with_burst(0)
            .expect("within bounds")
            .into(),
    )
}

fn throttle() -> Budget {
    Budget::new(ThrottlePlan::new(10, Ratio::from_percent(10)).expect("within bounds").into())
}

/// Grants among `asks` asks at one instant, none of them refunded.
fn granted(budget: &mut Budget, asks: u32) -> usize {
    (0..asks).filter(|_| budget.ask(NOW, Charge::Retry).is_some()).count()
}

/// One plan of every kind that limits.
fn limiting() -> [BudgetPlan; 7] {
    [
        BudgetPlan::None,
        BudgetPlan::default(),
        WindowPlan::default().with_floor(FloorRate::AtLeast(Rate::per_second(1))).into(),
        TokenPlan::aws_2_0().into(),
        TokenPlan::aws_2_1().into(),
        ThrottlePlan::new(10, Ratio::from_percent(10)).expect("within bounds").into(),
        IntervalPlan::new(2, Span::from_secs(30)).expect("within bounds").into(),
    ]
}

#[test]
fn a_drained_bucket_stayed_empty_for_ever() {
    // aws/aws-sdk-go-v2 #3550
    let mut budget = Budget::new(TokenPlan::aws_2_0().into());
    assert_eq!(granted(&mut budget, 10_000), 100, "retries end after 100 charges");
    for successes in 1..=10_000_u64 {
        budget.on_first(NOW);
        budget.on_settled(NOW, Settled::FirstTry);
        assert_eq!(budget.level(NOW).held, successes.min(500));
    }
}

#[test]
fn a_success_after_a_free_retry_gave_nothing_back() {
    let mut budget = Budget::new(TokenPlan::aws_2_0().with_initial(0).unwrap().into());
    budget.on_settled(NOW, Settled::AfterRetry(Paid::FREE));
    assert_eq!(budget.level(NOW).held, 1);
}

#[test]
fn a_success_gave_back_more_than_the_last_cost() {
    let mut budget = Budget::new(TokenPlan::aws_2_0().into());
    assert!(budget.ask(NOW, Charge::Timeout).is_some());
    let last = budget.ask(NOW, Charge::Retry).unwrap();
    budget.on_settled(NOW, Settled::AfterRetry(last));
    assert_eq!(budget.level(NOW).held, 500 - 10);
}

#[test]
fn an_absent_budget_could_not_be_told_from_a_full_one() {
    // awslabs/aws-sdk-rust #1234
    let absent = Budget::new(BudgetPlan::Unlimited);
    for plan in limiting() {
        assert_ne!(plan, *absent.plan());
        assert_ne!(Budget::new(plan).level(NOW).capacity, absent.level(NOW).capacity, "{plan:?}");
    }
}

#[test]
fn workers_on_an_empty_bucket_were_let_through() {
    // aws/aws-sdk-go-v2 #3413: 256 workers, one client, the server answers 503 to all.
    let mut budget = Budget::new(TokenPlan::aws_2_1().with_initial(0).unwrap().into());
    for _ in 0..256 {
        budget.on_first(NOW);
        budget.on_settled(NOW, Settled::Failed);
        assert_eq!(budget.ask(NOW, Charge::Retry), None, "a refusal is an answer of its own");
        assert_eq!(budget.level(NOW).held, 0);
    }
}

#[test]
fn a_million_successes_kept_retries_on_through_an_outage() {
    // grpc/proposal pull request 27
    let mut budget = throttle();
    (0..1_000_000).for_each(|_| budget.on_settled(NOW, Settled::FirstTry));
    let mut failures = 0;
    while budget.ask(NOW, Charge::Retry).is_some() {
        budget.on_settled(NOW, Settled::Failed);
        failures += 1;
    }
    assert_eq!((failures, budget.level(NOW).held), (5, 5_000));
    budget.on_settled(NOW, Settled::FirstTry);
    assert!(budget.ask(NOW, Charge::Retry).is_some(), "one success is enough at the border");
}

#[test]
fn a_long_outage_drove_the_count_below_zero() {
    // grpc/proposal pull request 27
    let mut budget = throttle();
    (0..1_000).for_each(|_| budget.on_settled(NOW, Settled::Failed));
    let mut successes = 0;
    while budget.ask(NOW, Charge::Retry).is_none() {
        budget.on_settled(NOW, Settled::FirstTry);
        successes += 1;
    }
    assert_eq!(successes, 51, "5 tokens of a tenth each, and one beyond");
}

#[test]
fn each_retry_lowered_the_base_that_it_was_measured_by() {
    // envoyproxy/envoy-mobile pull request 811: 6 calls in flight, all reset, budget 100 %.
    let mut budget = window(100, FloorRate::Add(Rate::ZERO));
    (0..6).for_each(|_| budget.on_first(NOW));
    for _ in 0..6 {
        budget.on_settled(NOW, Settled::Failed);
        assert!(budget.ask(NOW, Charge::Retry).is_some());
    }
    assert!(budget.ask(NOW, Charge::Retry).is_none());
}

#[test]
fn little_traffic_never_got_a_retry() {
    // envoyproxy/gateway pull request 2769, envoyproxy/envoy pull request 9069
    for (active, allowed) in [(2, 3), (25, 5)] {
        let mut budget = window(20, FloorRate::AtLeast(Rate::per_second(3)));
        (0..active).for_each(|_| budget.on_first(NOW));
        assert_eq!(granted(&mut budget, 100), allowed, "{active} active");
    }
}

#[test]
fn waiters_that_gave_up_took_the_permits_with_them() {
    // failsafe-lib/failsafe #393: capacity 8, 8 holders, 8 waiters that time out.
    let floor = WindowPlan::new(Ratio::ZERO).unwrap().with_window(Span::from_secs(1)).unwrap();
    let eight: [BudgetPlan; 3] = [
        TokenPlan::new(8, 1).unwrap().into(),
        IntervalPlan::new(8, Span::from_secs(30)).unwrap().into(),
        floor.with_floor(FloorRate::Add(Rate::per_second(8))).into(),
    ];
    for plan in eight {
        let mut budget = Budget::new(plan);
        let held: Vec<Paid> = (0..8).map(|_| budget.ask(NOW, Charge::Retry).unwrap()).collect();
        assert_eq!(granted(&mut budget, 8), 0, "{plan:?}");
        held.into_iter().for_each(|paid| budget.refund(NOW, paid));
        assert_eq!(budget.level(NOW).retries, 8, "{plan:?}");
    }
}

#[test]
fn a_call_dropped_in_backoff_lost_or_made_tokens() {
    // joshrotenberg/tower-resilience pull request 399
    for plan in limiting() {
        let mut budget = Budget::new(plan);
        (0..7).for_each(|_| budget.on_first(NOW));
        let before = budget.level(NOW);
        for charge in [Charge::Retry, Charge::Timeout, Charge::Throttled, Charge::Hedge] {
            for _ in 0..1_000 {
                if let Some(paid) = budget.ask(NOW, charge) {
                    budget.refund(NOW, paid);
                }
            }
        }
        assert_eq!(budget.level(NOW), before, "{plan:?}");
    }
}

#[test]
fn callers_that_fail_for_ever_were_never_stopped() {
    const CALLERS: u64 = 1_000;
    for plan in limiting() {
        let mut budget = Budget::new(plan);
        (0..CALLERS).for_each(|_| budget.on_first(NOW));
        let mut granted = 0;
        // A hundred rounds within one second: every caller fails and asks again.
        for round in 0..100 {
            let now = NOW + Span::from_millis(10 * round);
            for _ in 0..CALLERS {
                budget.on_settled(now, Settled::Failed);
                granted += u64::from(budget.ask(now, Charge::Retry).is_some());
            }
        }
        let end = NOW + Span::from_secs(1);
        assert!(granted <= CALLERS / 10 + 10, "{plan:?} granted {granted}");
        assert_eq!(budget.level(end).retries, 0, "{plan:?}");
        assert_eq!(budget.ask(end, Charge::Hedge), None, "{plan:?}");
    }
}

#[test]
fn a_minute_of_greedy_calls_got_more_than_share_and_floor() {
    // 100 calls a second, each asking until it is refused: 10 % of 6000, one in twenty seconds, and
    // the two in hand.
    let mut budget = Budget::default();
    let mut granted = 0;
    for call in 0..6_000 {
        let now = NOW + Span::from_millis(10 * call);
        budget.on_first(now);
        while budget.ask(now, Charge::Retry).is_some() {
            granted += 1;
        }
    }
    assert_eq!(granted, 600 + 2 + 2);
}
