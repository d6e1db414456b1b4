//! The windowed ratio: exact shares, expiry, and a naive model that keeps every event.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger_core::budget::{Budget, Charge, Floor, Paid, WindowPlan};
use stagger_core::{Instant, Ratio, Span};

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn plan(ppm: u32, window: Span, floor: Floor) -> WindowPlan {
    let plan = WindowPlan::new(Ratio::from_ppm(ppm)).expect("within bounds");
    plan.with_window(window).expect("within bounds").with_floor(floor).expect("within bounds")
}

/// No floor, 100 %, 10 s: one retry for each first attempt.
fn whole() -> Budget {
    Budget::new(plan(1_000_000, Span::from_secs(10), Floor::Add(0)).into())
}

fn asks(budget: &mut Budget, now: Instant) -> bool {
    budget.ask(now, Charge::Retry).is_some()
}

#[test]
fn a_share_of_forty_percent_came_out_as_fifty() {
    // tower-rs/tower #857
    for tenths in 1..=10_u32 {
        let share = plan(tenths * 100_000, Span::from_secs(10), Floor::Add(0));
        let mut budget = Budget::new(share.into());
        let mut granted = 0;
        for call in 1..=10_000_u64 {
            budget.on_first(Instant::ORIGIN);
            granted += u64::from(asks(&mut budget, Instant::ORIGIN));
            assert_eq!(granted, call * u64::from(tenths) / 10, "{tenths} tenths, call {call}");
        }
    }
}

#[test]
fn an_idle_window_remembered_old_calls() {
    let mut budget = whole();
    budget.on_first(at(0));
    assert!(asks(&mut budget.clone(), at(10 * SECOND - 1)));
    assert!(!asks(&mut budget, at(10 * SECOND)));
}

#[test]
fn a_jump_over_centuries_kept_a_slot() {
    for gap in [10 * SECOND, 11 * SECOND, 100 * SECOND, 1 << 62, u64::MAX] {
        let mut budget = whole();
        (0..5).for_each(|_| budget.on_first(at(0)));
        assert!(asks(&mut budget, at(0)));
        assert_eq!(budget.level(at(gap)).capacity, 0, "gap {gap}");
        budget.on_first(at(gap));
        assert!(asks(&mut budget, at(gap)), "gap {gap}");
        assert!(!asks(&mut budget, at(gap)), "gap {gap}");
    }
}

#[test]
fn disorder_between_threads_dropped_counts() {
    let mut budget = whole();
    budget.on_first(at(20 * SECOND));
    budget.on_first(at(19 * SECOND));
    assert!(asks(&mut budget, at(19 * SECOND)));
    assert!(asks(&mut budget, at(20 * SECOND)));
    assert!(!asks(&mut budget, at(18 * SECOND)));
}

#[test]
fn a_clock_set_back_an_hour_froze_the_window_for_an_hour() {
    let mut budget = whole();
    let hour = 3_600 * SECOND;
    budget.on_first(at(2 * hour));
    assert!(asks(&mut budget, at(hour)), "no time has passed");
    assert!(!asks(&mut budget, at(hour)));
    assert_eq!(budget.level(at(hour + 10 * SECOND)).capacity, 0, "and from here it passes");
}

#[test]
fn a_refund_was_credited_to_another_slot() {
    let mut budget = whole();
    (0..2).for_each(|_| budget.on_first(at(0)));
    let early = budget.ask(at(0), Charge::Retry).unwrap();
    (0..2).for_each(|_| budget.on_first(at(5 * SECOND)));
    assert!(asks(&mut budget, at(5 * SECOND)));
    budget.refund(at(5 * SECOND), early);
    assert_eq!(budget.level(at(5 * SECOND)).retries, 3);
    // The early slot leaves with its two calls and without the refunded retry.
    assert_eq!(budget.level(at(10 * SECOND)).retries, 1);
}

#[test]
fn a_refund_after_its_slot_had_left_made_a_retry_out_of_nothing() {
    let mut budget = whole();
    budget.on_first(at(0));
    let old = budget.ask(at(0), Charge::Retry).unwrap();
    let now = at(10 * SECOND);
    budget.on_first(now);
    assert!(asks(&mut budget, now));
    budget.refund(now, old);
    assert!(!asks(&mut budget, now));
}

#[test]
fn settings_that_are_no_window_were_accepted() {
    let plan = WindowPlan::default();
    for window in [Span::ZERO, Span::from_nanos(SECOND - 1), Span::from_nanos(60 * SECOND + 1)] {
        assert_eq!(plan.with_window(window).unwrap_err().field(), "budget.window");
    }
    assert_eq!(plan.with_floor(Floor::Add(1_000_001)).unwrap_err().field(), "budget.floor");
    let eleven = WindowPlan::new(Ratio::from_ppm(10_000_001));
    assert_eq!(eleven.unwrap_err().field(), "budget.ratio");
}

/// Keeps the slot of every event and counts them all, every time.
struct Naive {
    plan: WindowPlan,
    firsts: Vec<u64>,
    retries: Vec<u64>,
    newest: u64,
}

impl Naive {
    /// The slot of `now`, never before one that was already seen.
    fn slot(&mut self, now: u64) -> u64 {
        self.newest = self.newest.max(now / self.plan.window().as_nanos().div_ceil(10));
        self.newest
    }

    fn ask(&mut self, now: u64) -> Option<u64> {
        let slot = self.slot(now);
        let live = |events: &[u64]| events.iter().filter(|event| slot - **event < 10).count();
        let share = live(&self.firsts) as u128 * u128::from(self.plan.ratio().ppm());
        let window = u128::from(self.plan.window().as_nanos());
        let allowed = match self.plan.floor() {
            Floor::Add(rate) => share + u128::from(rate) * window / 1_000,
            Floor::AtLeast(rate) => share.max(u128::from(rate) * window / 1_000),
        };
        if (live(&self.retries) as u128 + 1) * 1_000_000 > allowed {
            return None;
        }
        self.retries.push(slot);
        Some(slot)
    }

    fn refund(&mut self, slot: u64) {
        let place =
            self.retries.iter().rposition(|event| *event == slot).expect("refunds are of grants");
        self.retries.remove(place);
    }
}

#[derive(Clone, Debug)]
enum Event {
    First,
    Ask,
    Refund(usize),
    Wait(u64),
    Disorder(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => Just(Event::First),
        4 => Just(Event::Ask),
        2 => any::<usize>().prop_map(Event::Refund),
        2 => (0..2 * SECOND).prop_map(Event::Wait),
        1 => (0..200 * SECOND).prop_map(Event::Wait),
        1 => (0..SECOND).prop_map(Event::Disorder),
    ];
    prop::collection::vec(event, 1..300)
}

fn plans() -> impl Strategy<Value = WindowPlan> {
    let floor = prop_oneof![(0..5_u32).prop_map(Floor::Add), (0..5_u32).prop_map(Floor::AtLeast)];
    (0..=2_000_000_u32, SECOND..=60 * SECOND, floor)
        .prop_map(|(ppm, window, floor)| plan(ppm, Span::from_nanos(window), floor))
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
    fn the_window_differed_from_a_list_of_all_events(plan in plans(), events in events()) {
        let mut naive = Naive { plan, firsts: vec![], retries: vec![], newest: 0 };
        let mut budget = Budget::new(plan.into());
        let mut held: Vec<(Paid, u64)> = vec![];
        let (mut latest, mut now) = (1_000 * SECOND, 1_000 * SECOND);
        for event in events {
            match event {
                Event::Wait(nanos) => {
                    latest += nanos;
                    now = latest;
                }
                // Below the shortest window; a clock set back further has its own test.
                Event::Disorder(nanos) => now = latest - nanos,
                Event::First => {
                    budget.on_first(at(now));
                    let slot = naive.slot(now);
                    naive.firsts.push(slot);
                }
                Event::Ask => {
                    let (fast, slow) = (budget.ask(at(now), Charge::Retry), naive.ask(now));
                    prop_assert_eq!(fast.is_some(), slow.is_some());
                    held.extend(fast.zip(slow));
                }
                Event::Refund(pick) if !held.is_empty() => {
                    let (paid, slot) = held.swap_remove(pick % held.len());
                    budget.refund(at(now), paid);
                    naive.slot(now);
                    naive.refund(slot);
                }
                Event::Refund(_) => {}
            }
        }
    }
}
