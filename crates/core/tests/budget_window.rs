//! The windowed ratio: exact shares, expiry, and a naive model that keeps every event.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger_core::budget::{Budget, Charge, FloorRate, Paid, WindowPlan};
use stagger_core::{Instant, Rate, Ratio, Span};

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn plan(ppm: u32, window: Span, floor: FloorRate) -> WindowPlan {
    let plan = WindowPlan::new(Ratio::from_ppm(ppm)).expect("within bounds");
    plan.with_window(window).expect("within bounds").with_floor(floor)
}

/// No floor, 100 %, 10 s: one retry for each first attempt.
fn whole() -> Budget {
    Budget::new(plan(1_000_000, Span::from_secs(10), FloorRate::Add(Rate::ZERO)).into())
}

fn asks(budget: &mut Budget, now: Instant) -> bool {
    budget.ask(now, Charge::Retry).is_some()
}

#[test]
fn a_share_of_forty_percent_came_out_as_fifty() {
    // tower-rs/tower #857
    for tenths in 1..=10_u32 {
        let share = plan(tenths * 100_000, Span::from_secs(10), FloorRate::Add(Rate::ZERO));
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
fn a_refund_brought_back_what_had_expired() {
    let mut budget = whole();
    (0..2).for_each(|_| budget.on_first(at(0)));
    let early = budget.ask(at(0), Charge::Retry).unwrap();
    (0..2).for_each(|_| budget.on_first(at(5 * SECOND)));
    assert!(asks(&mut budget, at(5 * SECOND)));
    budget.refund(at(5 * SECOND), early);
    assert_eq!(budget.level(at(5 * SECOND)).retries, 3);
    // The retry that was made has spent a half of the early slot, whose other half has expired.
    assert_eq!(budget.level(at(10 * SECOND)).retries, 2);
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
    assert_eq!(plan.with_burst(1_000_001).unwrap_err().field(), "budget.burst");
    let eleven = WindowPlan::new(Ratio::from_ppm(10_000_001));
    assert_eq!(eleven.unwrap_err().field(), "budget.ratio");
}

#[test]
fn a_steady_outage_brought_back_spent_retries_in_blocks() {
    // 100 calls a second that have succeeded for a minute, then none does.
    for floor in [Rate::ZERO, Rate::try_from(0.1).unwrap(), Rate::per_second(1)] {
        let mut budget =
            Budget::new(plan(100_000, Span::from_secs(10), FloorRate::Add(floor)).into());
        let mut by_second = [0_u32; 130];
        for call in 0..13_000_u64 {
            let now = at(call * SECOND / 100);
            budget.on_first(now);
            let second = call / 100;
            if second >= 30 {
                by_second[usize::try_from(second).unwrap()] += u32::from(asks(&mut budget, now));
            }
        }
        let (first, rest) = (&by_second[30..40], &by_second[40..]);
        let [burst, settled] = [first, rest].map(|seconds| seconds.iter().sum::<u32>());
        let fair = 9_000.0 * 0.1 + 90.0 * floor.as_f64();
        let off = (f64::from(settled) - fair).abs() / fair;
        assert!(off < 0.01, "{floor}: {settled} retries in nine windows, not {fair}");
        let worst = *rest.iter().max().unwrap();
        assert!(
            f64::from(worst) <= 1.5 * fair / 90.0,
            "{floor}: {worst} in one second of {rest:?}"
        );
        assert!(f64::from(burst) <= 2.0 * fair / 9.0 + 3.0, "{floor}: {burst} in the first window");
    }
}

#[test]
fn retries_in_hand_at_rest_came_back_faster_than_the_floor() {
    let mut budget = Budget::default();
    let granted = (0..1_000 * 10).filter(|tenth| asks(&mut budget, at(tenth * SECOND / 10)));
    assert_eq!(granted.count(), 2 + 49, "two in hand, then one in twenty seconds");
    assert_eq!(budget.level(at(1_005 * SECOND)).retries, 1);
    assert_eq!(budget.level(at(1_030 * SECOND)).retries, 2);
    assert_eq!(budget.level(at(9_000 * SECOND)).retries, 2);
}

/// Keeps the slot of every first attempt and a balance of what is in hand, in millionths.
struct Naive {
    plan: WindowPlan,
    firsts: Vec<u64>,
    balance: u128,
    newest: u64,
}

impl Naive {
    fn new(plan: WindowPlan) -> Self {
        Self { plan, firsts: vec![], balance: u128::from(plan.reserve()), newest: 0 }
    }

    /// Goes slot by slot to the slot of `now`, never back.
    fn turn(&mut self, now: u64) {
        while self.newest < now / self.plan.slot().as_nanos() {
            let before = self.most();
            self.newest += 1;
            let left = self.firsts.iter().filter(|slot| self.newest - **slot == 10).count();
            let share = left as u128 * u128::from(self.plan.ratio().ppm());
            let floor = u128::from(self.plan.slot_floor());
            let earned = match self.plan.floor() {
                FloorRate::Add(_) => share + floor,
                FloorRate::AtLeast(_) if before > u128::from(self.plan.reserve()) => share,
                FloorRate::AtLeast(_) => floor,
            };
            let most = self.most();
            self.balance = (self.balance + earned + most).saturating_sub(before).min(most);
        }
    }

    fn most(&self) -> u128 {
        let live = self.firsts.iter().filter(|slot| self.newest - **slot < 10).count();
        let share = live as u128 * u128::from(self.plan.ratio().ppm());
        let reserve = u128::from(self.plan.reserve());
        match self.plan.floor() {
            FloorRate::Add(_) => share + reserve,
            FloorRate::AtLeast(_) => share.max(reserve),
        }
    }

    fn on_first(&mut self, now: u64) {
        self.turn(now);
        let before = self.most();
        self.firsts.push(self.newest);
        self.balance += self.most() - before;
    }

    fn ask(&mut self, now: u64) -> Option<u64> {
        self.turn(now);
        self.balance = self.balance.checked_sub(1_000_000)?;
        Some(self.newest)
    }

    fn refund(&mut self, now: u64, slot: u64) {
        self.turn(now);
        if self.newest - slot < 10 {
            self.balance = (self.balance + 1_000_000).min(self.most());
        }
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
    let rate = || {
        (0..50_u32)
            .prop_map(|tenths| Rate::try_from(f64::from(tenths) / 10.0).expect("within bounds"))
    };
    let floor = prop_oneof![rate().prop_map(FloorRate::Add), rate().prop_map(FloorRate::AtLeast)];
    (0..=2_000_000_u32, SECOND..=60 * SECOND, floor, 0..9_u32).prop_map(
        |(ppm, window, floor, burst)| {
            plan(ppm, Span::from_nanos(window), floor).with_burst(burst).expect("within bounds")
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
    fn the_window_differed_from_a_list_of_all_events(plan in plans(), events in events()) {
        let mut naive = Naive::new(plan);
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
                    naive.on_first(now);
                }
                Event::Ask => {
                    let (fast, slow) = (budget.ask(at(now), Charge::Retry), naive.ask(now));
                    prop_assert_eq!(fast.is_some(), slow.is_some());
                    held.extend(fast.zip(slow));
                }
                Event::Refund(pick) if !held.is_empty() => {
                    let (paid, slot) = held.swap_remove(pick % held.len());
                    budget.refund(at(now), paid);
                    naive.refund(now, slot);
                }
                Event::Refund(_) => {}
            }
        }
    }
}
