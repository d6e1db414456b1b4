//! No order of threads makes a budget grant too much, or forget a refund.

use loom::sync::Arc;
use loom::thread;
use stagger_core::budget::{Charge, FloorRate, IntervalPlan, Settled, TokenPlan, WindowPlan};
use stagger_core::{Instant, Rate, Ratio, Span};

use crate::atomic_budgets::TokenBucket;
use crate::interval_budget::IntervalBudget;
use crate::sync::take_stripe;
use crate::window_budget::WindowBudget;

/// Preemptions tried in one run: two find most faults (loom's own advice), three take seconds for a
/// word and minutes for a window that turns.
const PREEMPTIONS: usize = 3;
const PREEMPTIONS_OF_A_TURN: usize = 2;

fn model(check: impl Fn() + Sync + Send + 'static) {
    model_within(PREEMPTIONS, check);
}

fn model_within(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

fn second(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(n)
}

/// Half of the first attempts, without a floor.
fn half() -> WindowBudget {
    let plan = WindowPlan::new(Ratio::from_percent(50))
        .map(|plan| plan.with_floor(FloorRate::Add(Rate::ZERO)));
    WindowBudget::new(plan.expect("in bounds"))
}

fn counted(n: u32) -> Arc<WindowBudget> {
    let window = half();
    (0..n).for_each(|_| window.on_first(second(0)));
    Arc::new(window)
}

#[test]
fn a_bucket_with_tokens_for_one_retry_grants_one() {
    model(|| {
        let bucket = Arc::new(TokenBucket::new(TokenPlan::new(9, 5).expect("in bounds")));
        let other = Arc::clone(&bucket);
        let asked = thread::spawn(move || other.ask(Charge::Retry).is_some());
        let mine = bucket.ask(Charge::Retry).is_some();
        assert!(mine ^ asked.join().expect("no panic"));
        assert_eq!(bucket.level().held, 4);
    });
}

#[test]
fn a_refund_to_a_bucket_is_never_lost_to_somebody_who_asks_or_deposits() {
    model(|| {
        let plan = TokenPlan::new(20, 5).expect("in bounds");
        let bucket = Arc::new(TokenBucket::new(plan));
        let paid = bucket.ask(Charge::Retry).expect("full");
        let (one, other) = (Arc::clone(&bucket), Arc::clone(&bucket));
        let refund = thread::spawn(move || one.refund(paid));
        let ask = thread::spawn(move || other.ask(Charge::Retry).is_some());
        let _ = bucket.ask(Charge::Retry).expect("15 tokens are enough for both");
        bucket.on_settled(Settled::FirstTry);
        refund.join().expect("no panic");
        assert!(ask.join().expect("no panic"));
        // One token may have met a full bucket, never more.
        assert!((10..=11).contains(&bucket.level().held));
    });
}

#[test]
fn a_window_with_room_for_one_retry_grants_one() {
    model(|| {
        let window = counted(3);
        let other = Arc::clone(&window);
        let asked = thread::spawn(move || other.ask(second(0)).is_some());
        let mine = window.ask(second(0)).is_some();
        assert!(mine ^ asked.join().expect("no panic"));
        assert_eq!(window.level(second(0)).retries, 0);
    });
}

#[test]
fn a_retry_is_not_granted_on_first_attempts_that_have_left() {
    model_within(PREEMPTIONS_OF_A_TURN, || {
        let window = counted(4);
        // Ten seconds on, the four have left; one first attempt alone pays for no retry.
        let turner = Arc::clone(&window);
        let turning = thread::spawn(move || turner.on_first(second(10)));
        // Asked at the old time, it is served before the turn or not at all.
        let _early = window.ask(second(0));
        turning.join().expect("no panic");
        assert!(window.ask(second(10)).is_none());
        let level = window.level(second(10));
        assert_eq!((level.retries, level.capacity), (0, 0));
    });
}

#[test]
fn grants_before_during_and_after_a_turn_never_exceed_what_the_window_holds() {
    model_within(PREEMPTIONS_OF_A_TURN, || {
        let window = counted(2);
        let _leaves = window.ask(second(0)).expect("half of two");
        window.on_first(second(9));
        window.on_first(second(9));
        // At second 10 two first attempts leave, and the retry that they paid for: before and after,
        // there is room for one. Who reckoned before must not be granted on top of who did after.
        let asked = [9, 10].map(|now| {
            let window = Arc::clone(&window);
            thread::spawn(move || usize::from(window.ask(second(now)).is_some()))
        });
        let granted: usize = asked.into_iter().map(|t| t.join().expect("no panic")).sum();
        assert_eq!(granted, 1);
        assert!(window.ask(second(10)).is_none());
    });
}

#[test]
fn a_refund_to_a_window_is_never_lost_to_a_turn_or_to_a_grant() {
    model(|| {
        let window = counted(4);
        let paid = window.ask(second(0)).expect("room for two");
        let (one, other) = (Arc::clone(&window), Arc::clone(&window));
        let refund = thread::spawn(move || one.refund(second(1), paid));
        let asked = thread::spawn(move || other.ask(second(1)).is_some());
        refund.join().expect("no panic");
        assert!(asked.join().expect("no panic"));
        assert_eq!(window.level(second(1)).retries, 1);
        assert!(window.ask(second(1)).is_some());
        assert!(window.ask(second(1)).is_none());
    });
}

#[test]
fn a_late_refund_does_not_take_the_grant_of_somebody_else() {
    model(|| {
        let window = counted(2);
        let paid = window.ask(second(0)).expect("half of two");
        window.on_first(second(9));
        window.on_first(second(9));
        // At second 10 the grant leaves, and its slot is the next one's.
        let other = Arc::clone(&window);
        let asked = thread::spawn(move || other.ask(second(10)).is_some());
        window.refund(second(9), paid);
        assert!(asked.join().expect("no panic"));
        assert!(window.ask(second(10)).is_none());
    });
}

#[test]
fn first_attempts_are_never_lost_to_a_turn() {
    model(|| {
        let window = counted(0);
        let (one, other) = (Arc::clone(&window), Arc::clone(&window));
        let first = thread::spawn(move || one.on_first(second(1)));
        let second_one = thread::spawn(move || other.on_first(second(1)));
        window.on_first(second(0));
        first.join().expect("no panic");
        second_one.join().expect("no panic");
        window.on_first(second(1));
        assert_eq!(window.level(second(1)).capacity, 2);
    });
}

#[test]
fn first_attempts_in_stripes_are_never_lost_to_a_turn() {
    model(|| {
        let window = counted(0);
        let counting = [0, 1].map(|stripe| {
            let window = Arc::clone(&window);
            thread::spawn(move || {
                take_stripe(stripe);
                window.on_first(second(1));
            })
        });
        window.on_first(second(0));
        counting.into_iter().for_each(|thread| thread.join().expect("no panic"));
        window.on_first(second(1));
        assert_eq!(window.level(second(1)).capacity, 2);
    });
}

#[test]
fn a_retry_is_not_granted_on_first_attempts_in_a_stripe_that_have_left() {
    model_within(PREEMPTIONS_OF_A_TURN, || {
        take_stripe(0);
        let window = counted(4);
        let turner = Arc::clone(&window);
        let turning = thread::spawn(move || {
            take_stripe(1);
            turner.on_first(second(10));
        });
        let _early = window.ask(second(0));
        turning.join().expect("no panic");
        assert!(window.ask(second(10)).is_none());
        let level = window.level(second(10));
        assert_eq!((level.retries, level.capacity), (0, 0));
    });
}

#[test]
fn first_attempts_that_move_from_a_stripe_to_their_slot_are_not_paid_out_twice() {
    model_within(PREEMPTIONS_OF_A_TURN, || {
        take_stripe(0);
        let window = counted(2);
        let other = Arc::clone(&window);
        // The next thread that has the stripe.
        let moving = thread::spawn(move || {
            take_stripe(0);
            other.on_first(second(1));
        });
        let asked = [0; 2].map(|_| usize::from(window.ask(second(1)).is_some()));
        moving.join().expect("no panic");
        let late = usize::from(window.ask(second(1)).is_some());
        assert_eq!(asked.iter().sum::<usize>() + late, 1);
    });
}

#[test]
fn an_interval_grants_once_and_again_after_a_refund() {
    model(|| {
        let plan = IntervalPlan::new(1, Span::from_secs(30)).expect("in bounds");
        let interval = Arc::new(IntervalBudget::new(plan));
        let other = Arc::clone(&interval);
        let asked = thread::spawn(move || other.ask(second(1)));
        let mine = interval.ask(second(1));
        let theirs = asked.join().expect("no panic");
        assert!(mine.is_some() ^ theirs.is_some());
        interval.refund(mine.or(theirs).expect("one of them"));
        assert!(interval.ask(second(2)).is_some());
        assert!(interval.ask(second(2)).is_none());
    });
}
