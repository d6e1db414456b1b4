//! The shared ledger beside the engine's own: asked by one thread, they never disagree.

use proptest::prelude::*;
use stagger::breaker::{BreakerPlan, Report, WindowKind};
use stagger::budget::{BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Ledger, PlainLedger};
use stagger::{Instant, LocalLedger, Policy, Rate, Ratio, Span};
use stagger_testkit::Mix;

#[derive(Clone, Debug)]
enum Op {
    First(u8),
    Ask(Charge),
    /// Gives back the grant this far from the newest, if it is still there.
    Refund(usize),
    Settle(Settled),
    /// Settles a success after the grant this far from the newest.
    AfterRetry(usize),
    Admit(u8),
    /// Reports the ticket this far from the newest, if it is still there.
    Report(usize, Report),
    Forward(u64),
    Back(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let charge = prop_oneof![
        4 => Just(Charge::Retry),
        1 => Just(Charge::Timeout),
        1 => Just(Charge::Throttled),
        1 => Just(Charge::Hedge),
    ];
    let report = prop_oneof![
        4 => Just(Report::Success),
        6 => Just(Report::Failure),
        1 => Just(Report::Throttled),
        1 => Just(Report::Neutral),
    ];
    prop_oneof![
        4 => (1_u8..30).prop_map(Op::First),
        8 => charge.prop_map(Op::Ask),
        2 => (0_usize..8).prop_map(Op::Refund),
        1 => Just(Op::Settle(Settled::FirstTry)),
        2 => Just(Op::Settle(Settled::Failed)),
        1 => (0_usize..8).prop_map(Op::AfterRetry),
        6 => (1_u8..12).prop_map(Op::Admit),
        10 => (0_usize..12, report).prop_map(|(back, report)| Op::Report(back, report)),
        4 => (0_u64..3_000).prop_map(Op::Forward),
        2 => (0_u64..20_000).prop_map(Op::Forward),
        1 => (0_u64..400_000).prop_map(Op::Forward),
        1 => (0_u64..5_000).prop_map(Op::Back),
        1 => (0_u64..100_000).prop_map(Op::Back),
    ]
}

fn budgets() -> impl Strategy<Value = BudgetPlan> {
    let window = WindowPlan::new(Ratio::from_percent(20)).expect("in bounds");
    let bare = window.with_floor(FloorRate::Add(Rate::ZERO));
    let least = bare
        .with_window(Span::from_nanos(7_777_777_777))
        .map(|plan| {
            plan.with_floor(FloorRate::AtLeast(Rate::per_second(1))).with_phase(Ratio::ZERO)
        })
        .expect("in bounds");
    let throttle = ThrottlePlan::new(10, Ratio::from_percent(30)).expect("in bounds");
    let interval = |n| IntervalPlan::new(n, Span::from_secs(4)).expect("in bounds");
    prop::sample::select(vec![
        BudgetPlan::Unlimited,
        BudgetPlan::None,
        window.with_phase(Ratio::ZERO).into(),
        bare.into(),
        least.into(),
        TokenPlan::new(40, 5).and_then(|plan| plan.with_timeout(13)).expect("in bounds").into(),
        TokenPlan::aws_2_1().with_initial(30).expect("in bounds").into(),
        throttle.into(),
        interval(1).into(),
        interval(3).into(),
    ])
}

fn breakers() -> impl Strategy<Value = BreakerPlan> {
    let plan = || BreakerPlan::builder().minimum_calls(5);
    let ramp = Span::from_secs(4);
    prop::sample::select(vec![
        BreakerPlan::default(),
        plan().build().expect("in bounds"),
        plan().consecutive(3).probes(3).build().expect("in bounds"),
        plan().ratio(None).consecutive(4).throttled_fails(true).build().expect("in bounds"),
        plan().window(WindowKind::Time(Span::from_millis(3_333))).build().expect("in bounds"),
        plan().ramp(Ratio::from_percent(40), ramp).build().expect("in bounds"),
        plan().ramp(Ratio::ONE, ramp).consecutive(4).probes(2).build().expect("in bounds"),
        plan().window(WindowKind::Calls(7)).build().expect("in bounds"),
        plan().slow_calls(Span::from_secs(1), Ratio::from_percent(60)).build().expect("in bounds"),
    ])
}

/// The two ledgers, asked and told the same.
struct Pair {
    plain: PlainLedger,
    local: LocalLedger,
    now: Instant,
    grants: Vec<(Paid, Paid)>,
    tickets: Vec<(Ticket, Ticket)>,
    chance: (Mix, Mix),
}

impl Pair {
    fn new(policy: &Policy) -> Self {
        Self {
            plain: PlainLedger::new(policy),
            local: LocalLedger::new(policy),
            now: Instant::ORIGIN + Span::from_secs(1_000),
            grants: Vec::new(),
            tickets: Vec::new(),
            chance: (Mix::new(7), Mix::new(7)),
        }
    }

    fn play(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let mut local = &self.local;
        match *op {
            Op::Forward(ms) => self.now = self.now + Span::from_millis(ms),
            Op::Back(ms) => {
                self.now =
                    Instant::ORIGIN + (self.now.since(Instant::ORIGIN) - Span::from_millis(ms));
            }
            Op::First(times) => {
                for _ in 0..times {
                    self.plain.on_first(self.now);
                    local.on_first(self.now);
                }
            }
            Op::Ask(charge) => {
                let answers = (self.plain.ask(self.now, charge), local.ask(self.now, charge));
                prop_assert_eq!(answers.0.map(Paid::amount), answers.1.map(Paid::amount));
                self.grants.extend(answers.0.zip(answers.1));
            }
            Op::Refund(back) => {
                if let Some(grant) = taken(&mut self.grants, back) {
                    self.plain.refund(self.now, grant.0);
                    local.refund(self.now, grant.1);
                }
            }
            Op::Settle(settled) => {
                self.plain.on_settled(self.now, settled);
                local.on_settled(self.now, settled);
            }
            Op::AfterRetry(back) => {
                if let Some(grant) = taken(&mut self.grants, back) {
                    self.plain.on_settled(self.now, Settled::AfterRetry(grant.0));
                    local.on_settled(self.now, Settled::AfterRetry(grant.1));
                }
            }
            Op::Admit(times) => {
                for _ in 0..times {
                    self.admit()?;
                }
            }
            Op::Report(back, report) => {
                if let Some(tickets) = taken(&mut self.tickets, back) {
                    self.plain.report(self.now, tickets.0, report, &mut self.chance.0);
                    local.report(self.now, tickets.1, report, &mut self.chance.1);
                }
            }
        }
        self.compare()
    }

    fn admit(&mut self) -> Result<(), TestCaseError> {
        let answers = (self.plain.admit(self.now), (&self.local).admit(self.now));
        prop_assert_eq!(answers.0, answers.1);
        if let (Admission::Admitted(one), Admission::Admitted(other)) = answers {
            self.tickets.push((one, other));
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let stats = self.local.stats(self.now);
        prop_assert_eq!(stats.level, self.plain.budget().level(self.now));
        prop_assert_eq!(stats.breaker, self.plain.breaker().map(|one| one.state(self.now)));
        Ok(())
    }
}

fn taken<T>(list: &mut Vec<T>, back: usize) -> Option<T> {
    let place = list.len().checked_sub(back + 1)?;
    Some(list.remove(place))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn it_answers_like_the_plain_ledger(
        budget in budgets(),
        breaker in prop::option::weighted(0.9, breakers()),
        ops in prop::collection::vec(op(), 1..200),
    ) {
        let mut builder = Policy::builder().budget(budget);
        if let Some(breaker) = breaker {
            builder = builder.breaker(breaker);
        }
        let policy = builder.build().expect("in bounds");
        let mut pair = Pair::new(&policy);
        for op in &ops {
            pair.play(op)?;
        }
    }
}
