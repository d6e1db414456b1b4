//! Retries that budgets grant: to one failing call while the others of its process succeed, and to a fleet
//! in a total outage.

use stagger_core::budget::{BudgetPlan, Charge, FloorRate, ThrottlePlan, TokenPlan, WindowPlan};
use stagger_core::{Policy, Span};

use crate::figure::float;
use crate::{FleetBudget, Setting};

/// The retries of the whole fleet while every attempt fails; `None` unless rate and fleet are known.
#[must_use]
pub(crate) fn fleet(policy: &Policy, setting: &Setting) -> Option<FleetBudget> {
    let (rps, processes) = (setting.rps?, f64::from(setting.fleet?));
    let (steady, burst) = one(policy.budget(), rps);
    let wanted = policy.limits().max_attempts().map_or(f64::INFINITY, |n| f64::from(n - 1) * rps);
    Some(FleetBudget {
        retries_per_s: steady.min(wanted) * processes,
        firsts_per_s: rps * processes,
        burst: burst * processes,
        capacity_per_s: setting.downstream_capacity,
    })
}

/// Retries a second that one process may make for ever, and at once when the outage begins.
pub(crate) fn one(plan: &BudgetPlan, rps: f64) -> (f64, f64) {
    match plan {
        BudgetPlan::None => (0.0, 0.0),
        BudgetPlan::Window(plan) => window(plan, rps),
        BudgetPlan::Tokens(plan) => (0.0, stock(plan)),
        BudgetPlan::Throttle(plan) => (0.0, failures(plan)),
        BudgetPlan::Interval(plan) => {
            let retries = f64::from(plan.retries());
            (retries / plan.interval().as_secs_f64(), retries)
        }
        _ => (f64::INFINITY, f64::INFINITY),
    }
}

/// A window's retries a second and retries in hand at rest, at so many first attempts a second.
pub(crate) fn window(plan: &WindowPlan, rps: f64) -> (f64, f64) {
    let ratio = plan.ratio().as_f64();
    let share = if ratio > 0.0 { ratio * rps } else { 0.0 };
    let floor = plan.floor().rate().as_f64();
    let length = plan.window().as_secs_f64();
    let reserve = (floor * length).max(f64::from(plan.burst()));
    match plan.floor() {
        FloorRate::Add(_) => (share + floor, share * length + reserve),
        FloorRate::AtLeast(_) => (share.max(floor), (share * length).max(reserve)),
    }
}

/// A full bucket is spent once; where nothing succeeds, nothing fills it again.
fn stock(plan: &TokenPlan) -> f64 {
    f64::from(plan.capacity() / plan.cost(Charge::Retry))
}

/// Failures until the throttle refuses, each of which may be retried but the last.
fn failures(plan: &ThrottlePlan) -> f64 {
    float(plan.level(plan.start()).retries).max(1.0) - 1.0
}

/// A budget at rest, asked by one call only: no budget ever grants a call more than this.
///
/// The rules of the engine's budgets are restated here in closed form, because between two questions of
/// one call the engine would have to be told of each other call, of which there may be millions. A
/// window is a bucket here: full at rest, and refilled by its share and its floor. A test plays the
/// engine's own budgets beside this.
#[derive(Clone, Debug)]
pub(crate) struct LoneCall<'p> {
    plan: &'p BudgetPlan,
    /// First attempts a second, where known.
    rps: Option<f64>,
    /// The times of the grants of an interval, in order.
    grants: Vec<Span>,
    /// Retries of a window, tokens of a bucket, thousandths of a token of a throttle.
    held: f64,
    /// The time of the last question.
    at: Span,
}

impl<'p> LoneCall<'p> {
    pub(crate) fn new(plan: &'p BudgetPlan, rps: Option<f64>) -> Self {
        let mut call = Self { plan, rps, grants: Vec::new(), held: 0.0, at: Span::ZERO };
        call.restart();
        call
    }

    /// Forgets the call, so that another one may ask.
    pub(crate) fn restart(&mut self) {
        self.grants.clear();
        self.at = Span::ZERO;
        self.held = match self.plan {
            BudgetPlan::Window(plan) => window(plan, self.traffic()).1,
            BudgetPlan::Tokens(plan) if plan.first_try() == 0 => f64::from(plan.initial()),
            BudgetPlan::Tokens(plan) => f64::from(plan.capacity()),
            BudgetPlan::Throttle(plan) => f64::from(plan.max_tokens()) * 1_000.0,
            _ => 0.0,
        };
    }

    /// Whether an attempt that failed so long after the call began may be retried.
    pub(crate) fn ask(&mut self, at: Span, charge: Charge) -> bool {
        let elapsed = (at - self.at).as_secs_f64();
        let successes = self.rps.unwrap_or(0.0) * elapsed;
        self.at = at;
        let granted = match self.plan {
            BudgetPlan::None => false,
            BudgetPlan::Window(plan) => {
                let (rate, full) = window(plan, self.traffic());
                self.held = (self.held + rate * elapsed).min(full);
                // The rounding of a product must not cost a whole retry.
                let whole = self.held + 1e-9 >= 1.0;
                self.held -= if whole { 1.0 } else { 0.0 };
                whole
            }
            BudgetPlan::Interval(plan) => {
                self.since(at, plan.interval()) < f64::from(plan.retries())
            }
            BudgetPlan::Tokens(plan) => {
                let paid_in = successes * f64::from(plan.first_try());
                let cost = f64::from(plan.cost(charge));
                let full = f64::from(plan.capacity()).max(self.held);
                self.held = (self.held + paid_in).min(full);
                let payable = self.held >= cost;
                self.held -= if payable { cost } else { 0.0 };
                payable
            }
            BudgetPlan::Throttle(plan) => {
                let full = f64::from(plan.max_tokens()) * 1_000.0;
                let credit = successes * plan.token_ratio().as_f64() * 1_000.0;
                // The failure that is to be retried has been counted when the budget is asked.
                self.held = ((self.held + credit).min(full) - 1_000.0).max(0.0);
                self.held > full / 2.0
            }
            _ => true,
        };
        if granted && matches!(self.plan, BudgetPlan::Interval(_)) {
            self.grants.push(at);
        }
        granted
    }

    /// First attempts a second: without a known rate, much traffic.
    fn traffic(&self) -> f64 {
        self.rps.unwrap_or(f64::INFINITY)
    }

    /// The grants of the last stretch of this length.
    fn since(&self, at: Span, length: Span) -> f64 {
        let old = self.grants.partition_point(|grant| at - *grant >= length);
        float((self.grants.len() - old) as u64)
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::budget::{
        Budget, FloorRate, IntervalPlan, Settled, ThrottlePlan, TokenPlan, WindowPlan,
    };
    use stagger_core::{ConfigError, Instant, Rate, Ratio};

    use super::*;

    #[test]
    fn a_fleet_retries_a_tenth_of_its_calls_and_the_floor_of_each_process() {
        let setting = Setting { rps: Some(500.0), fleet: Some(40), ..Setting::default() };
        let budget = fleet(&Policy::default(), &setting).expect("both are known");
        assert_eq!(
            budget.retries_per_s,
            40.0 * (50.0 + 0.05),
            "a tenth, and one in twenty seconds"
        );
        assert_eq!(fleet(&Policy::default(), &Setting::default()), None);
    }

    fn granted(plan: BudgetPlan, rps: Option<f64>) -> usize {
        let mut call = LoneCall::new(&plan, rps);
        (0..50).take_while(|_| call.ask(Span::ZERO, Charge::Retry)).count()
    }

    #[test]
    fn a_burst_of_one_call_is_what_the_engine_grants() -> Result<(), ConfigError> {
        let tenth = Ratio::from_percent(10);
        let throttle = |max| ThrottlePlan::new(max, tenth).map(BudgetPlan::from);
        assert_eq!(
            [1, 2, 3, 10].map(|max| throttle(max).map(|it| granted(it, None))),
            [Ok(0), Ok(0), Ok(1), Ok(4)]
        );
        assert_eq!(granted(IntervalPlan::new(3, Span::from_secs(9))?.into(), None), 3);
        assert_eq!(granted(TokenPlan::new(100, 5)?.into(), None), 20);
        let bare = WindowPlan::new(tenth)?.with_floor(FloorRate::Add(Rate::ZERO));
        assert_eq!(granted(bare.into(), Some(0.9)), 0);
        assert_eq!(granted(bare.into(), Some(1.0)), 1);
        assert_eq!(granted(bare.into(), Some(3.0)), 3);
        Ok(())
    }

    /// Questions of a call that fails at once, so far apart.
    const APART: [u64; 4] = [0, 70, 900, 4_000];

    const QUESTIONS: u64 = 25;

    /// Long enough for every budget below to be full.
    const REST: Span = Span::from_secs(60);

    /// The grants of the engine's own budget to such a call, while other calls succeed at `rps`.
    fn played(plan: BudgetPlan, rps: u64, apart: Span) -> usize {
        let gap = Span::from_nanos(1_000_000_000 / rps);
        let mut budget = Budget::new(plan);
        let mut next = Instant::ORIGIN;
        let mut others = |budget: &mut Budget, until: Instant| {
            while next < until {
                budget.on_first(next);
                budget.on_settled(next, Settled::FirstTry);
                next = next + gap;
            }
        };
        let asked = |number| Instant::ORIGIN + REST + apart.saturating_mul(number);
        let granted = |number: &u64| {
            others(&mut budget, asked(*number));
            budget.on_settled(asked(*number), Settled::Failed);
            budget.ask(asked(*number), Charge::Retry).is_some()
        };
        (0..QUESTIONS).filter(granted).count()
    }

    fn restated(plan: BudgetPlan, rps: u32, apart: Span) -> usize {
        let mut call = LoneCall::new(&plan, Some(f64::from(rps)));
        let asked = |number: &u64| call.ask(apart.saturating_mul(*number), Charge::Retry);
        (0..QUESTIONS).filter(asked).count()
    }

    fn plans() -> Result<Vec<BudgetPlan>, ConfigError> {
        let tenth = Ratio::from_percent(10);
        Ok(vec![
            BudgetPlan::Unlimited,
            BudgetPlan::None,
            BudgetPlan::default(),
            WindowPlan::new(Ratio::from_percent(20))?.into(),
            WindowPlan::new(tenth)?.with_floor(FloorRate::AtLeast(Rate::try_from(0.5)?)).into(),
            IntervalPlan::new(3, Span::from_secs(9))?.into(),
            IntervalPlan::new(8, Span::from_millis(500))?.into(),
            TokenPlan::aws_2_0().into(),
            TokenPlan::aws_2_1().into(),
            ThrottlePlan::new(10, tenth)?.into(),
            ThrottlePlan::new(100, Ratio::from_percent(50))?.into(),
        ])
    }

    /// The most by which the engine stays below: it grants whole retries, and a window forgets its first
    /// attempts in tenths, of which one may be gone already.
    fn short(plan: &BudgetPlan, rps: u32) -> usize {
        let tenth = match plan {
            BudgetPlan::Window(plan) => window(plan, f64::from(rps)).1 / 10.0,
            _ => 0.0,
        };
        (0..).find(|whole| f64::from(*whole) >= tenth).map_or(1, |whole: u8| usize::from(whole) + 1)
    }

    #[test]
    fn the_engine_granted_more_to_a_lone_call_than_the_restated_rule() -> Result<(), ConfigError> {
        for (plan, rps) in plans()?.into_iter().flat_map(|plan| [1, 7, 50].map(|rps| (plan, rps))) {
            for apart in APART.map(Span::from_millis) {
                let real = played(plan, u64::from(rps), apart);
                let rule = restated(plan, rps, apart);
                let close = real <= rule && rule <= real + short(&plan, rps);
                assert!(close, "{plan:?}, {rps}/s, {apart}: {real} and not {rule}");
            }
        }
        Ok(())
    }
}
