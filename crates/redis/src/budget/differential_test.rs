//! The script against the engine's own budget, on a real server: at `STAGGER_TEST_REDIS`, or not at all.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redis::{Client, Connection};
use stagger::budget::{BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
use stagger::engine::budget::{Budget, Charge, Paid, Settled};
use stagger::{Instant, Rate, Ratio, Span};

use super::script::{BudgetAnswer, BudgetEvents, BudgetRequest, BudgetScriptPlan, SCRIPT};

/// The server for tests, if there is one.
fn connection() -> Option<Connection> {
    let Ok(url) = std::env::var("STAGGER_TEST_REDIS") else {
        eprintln!("skipped: STAGGER_TEST_REDIS is not set; see scripts/redis");
        return None;
    };
    let client = Client::open(url).expect("a valid URL");
    Some(client.get_connection().expect("a server at STAGGER_TEST_REDIS"))
}

fn plans() -> impl Strategy<Value = BudgetPlan> {
    let floor = prop_oneof![Just(0_u32), 0..20_u32, Just(10_000_000)];
    let window = (0..=10_000_000_u32, 1_000..=60_000_u64, floor, any::<bool>(), 0..9_u32);
    let window = window.prop_map(|(ppm, window, rate, add, burst)| {
        let rate = Rate::try_from(f64::from(rate) / 10.0).expect("at most a million");
        let floor = if add { FloorRate::Add(rate) } else { FloorRate::AtLeast(rate) };
        let plan = WindowPlan::new(Ratio::from_ppm(ppm)).expect("at most 1000 %");
        let plan = plan.with_window(Span::from_millis(window)).expect("1 s to 60 s");
        plan.with_floor(floor).with_burst(burst).expect("at most a million").into()
    });
    let tokens = (1..=600_u32).prop_flat_map(|capacity| {
        (Just(capacity), 1..=capacity.min(20), 0..=capacity.min(5), 0..=capacity)
    });
    let tokens = tokens.prop_map(|(capacity, cost, credit, initial)| {
        let plan = TokenPlan::new(capacity, cost).expect("within the capacity");
        let plan = plan.with_first_try(credit).expect("within the capacity");
        plan.with_initial(initial).expect("within the capacity").into()
    });
    let throttle = (1..=30_u32, 1_000..=2_000_000_u32).prop_map(|(max, ppm)| {
        ThrottlePlan::new(max, Ratio::from_ppm(ppm)).expect("in bounds").into()
    });
    let interval = (1..=16_u8, 1_000..=60_000_u64).prop_map(|(retries, interval)| {
        IntervalPlan::new(retries, Span::from_millis(interval)).expect("in bounds").into()
    });
    prop_oneof![window, tokens, throttle, interval]
}

/// One event: time passes, or the server's clock is set; then a process asks.
#[derive(Clone, Debug)]
struct BudgetStep {
    process: u128,
    /// In thousandths of the plan's own length of time; below zero the clock is set back.
    shift: i64,
    events: BudgetEvents,
    wanted: u64,
    returned: u64,
    sent: SendCount,
}

#[derive(Clone, Copy, Debug)]
enum SendCount {
    Once,
    /// The answer was lost.
    Twice,
    /// A request from before arrives late.
    Overtaken,
}

fn events() -> impl Strategy<Value = Vec<BudgetStep>> {
    let counts = (0..40_u64, 0..10_u64, 0..4_u64, 0..6_u64);
    let counts = counts.prop_map(|(firsts, first_tries, after_retry, failed)| BudgetEvents {
        firsts,
        first_tries,
        after_retry,
        failed,
    });
    let shift = prop_oneof![
        8 => 0..300_i64,
        2 => 300..2_500_i64,
        1 => -200..0_i64,
        1 => -9_000..0_i64,
    ];
    let sent = prop_oneof![8 => Just(SendCount::Once), 1 => Just(SendCount::Twice), 1 => Just(SendCount::Overtaken)];
    let event = (0..3_u128, shift, counts, 0..9_u64, 0..3_u64, sent);
    let event = event.prop_map(|(process, shift, events, wanted, returned, sent)| BudgetStep {
        process,
        shift,
        events,
        wanted,
        returned,
        sent,
    });
    prop::collection::vec(event, 1..60)
}

/// The engine's budget, asked by leases.
struct Model {
    budget: Budget,
    price: Paid,
}

impl Model {
    fn new(plan: BudgetPlan) -> Self {
        let price = match &plan {
            BudgetPlan::Tokens(plan) => Paid::new(plan.cost(Charge::Retry), 0),
            _ => Paid::FREE,
        };
        Self { budget: Budget::new(plan), price }
    }

    fn serve(&mut self, now: Instant, event: &BudgetStep, back: Vec<Paid>) -> Vec<Paid> {
        // The script looks at the time in every request, the engine in every event.
        self.budget.refund(now, Paid::FREE);
        for _ in 0..event.events.firsts {
            self.budget.on_first(now);
        }
        for (settled, times) in [
            (Settled::FirstTry, event.events.first_tries),
            (Settled::AfterRetry(self.price), event.events.after_retry),
            (Settled::Failed, event.events.failed),
        ] {
            for _ in 0..times {
                self.budget.on_settled(now, settled);
            }
        }
        for paid in back {
            self.budget.refund(now, paid);
        }
        (0..event.wanted).map_while(|_| self.budget.ask(now, Charge::Retry)).collect()
    }

    fn level(&self, now: Instant) -> [u64; 3] {
        let level = self.budget.level(now);
        [level.retries, level.held, level.capacity]
    }
}

/// The script on a server, at a time of the test's choice.
struct ScriptedBudget<'a> {
    connection: &'a mut Connection,
    rule: BudgetScriptPlan,
    name: String,
}

impl ScriptedBudget<'_> {
    fn serve(&mut self, now_us: u64, process: u128, request: &BudgetRequest) -> BudgetAnswer {
        let keys = self.rule.keys("differential", &self.name, process);
        let mut invocation = SCRIPT.key(&keys[..]);
        for argument in self.rule.arguments(request) {
            invocation.arg(argument);
        }
        invocation.arg(now_us);
        BudgetAnswer::of(invocation.invoke(self.connection).expect("the script runs"))
    }
}

/// The largest step back of a clock after which a plan still knows whose grant was whose.
fn memory(plan: &BudgetPlan) -> u64 {
    let span = match plan {
        BudgetPlan::Window(plan) => plan.window(),
        BudgetPlan::Interval(plan) => plan.interval(),
        _ => Span::from_secs(10),
    };
    span.as_nanos() / 1_000
}

fn agree(connection: &mut Connection, plan: BudgetPlan, events: &[BudgetStep], name: String) {
    let rule = BudgetScriptPlan::of(&plan).expect("a kind that limits");
    let (mut store, mut model) = (ScriptedBudget { connection, rule, name }, Model::new(plan));
    let mut numbers: HashMap<u128, u64> = HashMap::new();
    // By process: what it was granted last, and the mark.
    let mut last: HashMap<u128, (Vec<Paid>, u64)> = HashMap::new();
    let memory = memory(&plan);
    // A time as Redis has it: microseconds since 1970.
    let (mut now_us, mut high) = (1_790_000_000_000_000_u64, 0);
    for event in events {
        let mut event = event.clone();
        if matches!(plan, BudgetPlan::Interval(_)) {
            // This kind looks at the time when it is asked, and only then.
            event.wanted = event.wanted.max(1);
        }
        let event = &event;
        // One more, so that a clock set back does not meet a microsecond again: an interval tells
        // its grants apart by those.
        let shift = 1 + event.shift * i64::try_from(memory / 1_000).expect("a minute");
        now_us = now_us.saturating_add_signed(shift);
        if high > now_us + memory / 2 {
            (high, last) = (now_us, HashMap::new());
        }
        high = high.max(now_us);
        let now = Instant::from_nanos(now_us * 1_000);
        let number = numbers.entry(event.process).or_default();
        *number += 1;
        let (mut paids, mark) = last.remove(&event.process).unwrap_or_default();
        let returned = event.returned.min(paids.len() as u64);
        let back = paids.split_off(paids.len() - usize::try_from(returned).expect("a few"));
        let request = BudgetRequest {
            number: *number,
            wanted: event.wanted,
            returned,
            mark,
            events: event.events,
        };
        let granted = model.serve(now, event, back);
        let answer = store.serve(now_us, event.process, &request);
        assert_eq!(answer.granted, granted.len() as u64, "{plan:?} {event:?}");
        assert_eq!(answer.level, model.level(now), "{plan:?} {event:?}");
        match event.sent {
            SendCount::Once => {}
            SendCount::Twice => assert_eq!(store.serve(now_us, event.process, &request), answer),
            SendCount::Overtaken => {
                let late = BudgetRequest { number: *number - 1, ..request };
                let late = store.serve(now_us, event.process, &late);
                assert_eq!((late.granted, late.level), (0, answer.level));
            }
        }
        last.insert(event.process, (granted, answer.mark));
    }
}

#[test]
fn the_script_decides_as_the_engine_does() {
    let Some(mut connection) = connection() else { return };
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut run = 0;
    let mut runner = TestRunner::new_with_rng(config, chance);
    let connection = std::cell::RefCell::new((&mut connection, &mut run));
    let outcome = runner.run(&(plans(), events()), |(plan, events)| {
        let (connection, run) = &mut *connection.borrow_mut();
        **run += 1;
        agree(connection, plan, &events, format!("{}-{run}", std::process::id()));
        Ok(())
    });
    outcome.expect("they agree");
}

#[test]
fn counts_beyond_the_floats_are_exact() {
    let Some(mut connection) = connection() else { return };
    for (ppm, floor) in [(10_000_000, 1_000_000), (9_999_999, 999_999), (333_333, 7)] {
        let rate = Rate::per_second(floor);
        for floor in [FloorRate::Add(rate), FloorRate::AtLeast(rate)] {
            let plan = WindowPlan::new(Ratio::from_ppm(ppm)).expect("at most 1000 %");
            let plan = plan.with_floor(floor);
            let rule = BudgetScriptPlan::of(&plan.into()).expect("a window");
            let name = format!("floats-{}-{ppm}-{floor:?}", std::process::id());
            let mut store = ScriptedBudget { connection: &mut connection, rule, name };
            let (mut firsts, mut spent) = (0, 0);
            for slot in 0..10_u64 {
                let events =
                    BudgetEvents { firsts: (1 << 32) - 1 - slot * 77, ..BudgetEvents::default() };
                let request = BudgetRequest {
                    number: slot + 1,
                    wanted: 3,
                    events,
                    ..BudgetRequest::default()
                };
                let now_us = 1_790_000_000_000_000 + slot * 1_000_000;
                let answer = store.serve(now_us, 1, &request);
                spent = plan.spent_after(spent, firsts, 0) + answer.granted * 1_000_000;
                firsts += events.firsts;
                let level = plan.level_of(firsts, spent);
                assert_eq!(answer.level, [level.retries, level.held, level.capacity]);
            }
            // The product passes 2^53 by far.
            assert!(firsts.checked_mul(u64::from(ppm)).is_some_and(|product| product > 1 << 53));
        }
    }
}
