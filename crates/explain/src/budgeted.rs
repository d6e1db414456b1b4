//! Retries for each call once a budget has settled.

use stagger_core::budget::{Budget, BudgetPlan, Charge, FloorRate, Settled, TokenPlan, WindowPlan};
use stagger_core::{Instant, Rate, Span};

use crate::Method;
use crate::calls::PlayedCalls;
use crate::delay::MAX_ROWS;
use crate::figure::{Chance, float};

/// Calls before a budget has settled: the largest bucket of the presets is empty long before.
const WARM_UP: u32 = 20_000;
/// Calls that are counted then.
const COUNTED: u32 = 100_000;
/// The stream of these draws.
const STREAM: u64 = 3;

/// The attempts of calls if nothing refused them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'c> {
    /// The share of attempts that fails.
    pub(crate) failing: f64,
    /// The attempts that the deadline lets calls make.
    pub(crate) calls: &'c PlayedCalls,
    /// Retries for each call.
    pub(crate) retries: f64,
}

/// The retries for each call that the budget grants in the long run, at `rps` first attempts a
/// second, or under much traffic where that is not known.
pub(crate) fn retries(plan: &BudgetPlan, rps: Option<f64>, demand: &Demand<'_>) -> (f64, Method) {
    // A refusal ends its call, so grants fall short of the demand or of the allowance, never both.
    let up_to = |allowance: f64| (demand.retries.min(allowance), Method::Exact);
    match plan {
        BudgetPlan::None => (0.0, Method::Exact),
        BudgetPlan::Window(window) => up_to(share(window, rps)),
        BudgetPlan::Tokens(tokens) => up_to(affordable(tokens, demand.failing)),
        // Failures outweigh whatever succeeds when nothing does.
        BudgetPlan::Throttle(_) if demand.failing >= 1.0 => (0.0, Method::Exact),
        BudgetPlan::Throttle(_) => played(*plan, 1.0, demand),
        BudgetPlan::Interval(_) => match rps.filter(|&rps| rps > 0.0) {
            Some(rps) => played(*plan, rps, demand),
            None => (0.0, Method::Exact),
        },
        _ => (demand.retries, Method::Exact),
    }
}

/// Retries for each first attempt that a window allows.
fn share(window: &WindowPlan, rps: Option<f64>) -> f64 {
    let ratio = window.ratio().as_f64();
    let each = |floor: Rate| match rps {
        Some(rps) if rps > 0.0 => floor.as_f64() / rps,
        _ => 0.0,
    };
    match window.floor() {
        FloorRate::Add(floor) => ratio + each(floor),
        FloorRate::AtLeast(floor) => ratio.max(each(floor)),
    }
}

/// Retries for each call that the deposits pay for. One that succeeds gets its cost back, so only
/// those that fail cost: `cost * retries * q = deposit * (1 - q)`.
fn affordable(tokens: &TokenPlan, failing: f64) -> f64 {
    let deposit = f64::from(tokens.first_try()) * (1.0 - failing);
    deposit / (f64::from(tokens.cost(Charge::Retry)) * failing)
}

/// The engine's own budget under calls that come at random.
fn played(plan: BudgetPlan, rps: f64, demand: &Demand<'_>) -> (f64, Method) {
    let mut budget = Budget::new(plan);
    let mut chance = Chance::new(STREAM);
    let (mut now, mut granted) = (Instant::ORIGIN, 0_u64);
    for call in 0..WARM_UP + COUNTED {
        now = now + gap(rps, &mut chance);
        let retries = one(&mut budget, now, demand, &mut chance);
        if call >= WARM_UP {
            granted += retries;
        }
    }
    (float(granted) / f64::from(COUNTED), Method::Sample { calls: COUNTED })
}

/// The retries of one call.
fn one(budget: &mut Budget, now: Instant, demand: &Demand<'_>, chance: &mut Chance) -> u64 {
    budget.on_first(now);
    let (mut made, mut paid) = (1, None);
    loop {
        if chance.unit() >= demand.failing {
            budget.on_settled(now, paid.map_or(Settled::FirstTry, Settled::AfterRetry));
            break;
        }
        budget.on_settled(now, Settled::Failed);
        let calls = demand.calls;
        let goes_on =
            made < MAX_ROWS && chance.unit() * calls.reached(made) < calls.reached(made + 1);
        paid = if goes_on { budget.ask(now, Charge::Retry) } else { None };
        if paid.is_none() {
            break;
        }
        made += 1;
    }
    made as u64 - 1
}

/// The time until the next call of a Poisson stream.
fn gap(rps: f64, chance: &mut Chance) -> Span {
    let seconds = -libm::log(1.0 - chance.unit()) / rps;
    // OK because a gap of years is cut off, and a float is cut to whole nanoseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to bounds")]
    let nanos = (seconds * 1e9).clamp(0.0, 1e15) as u64;
    Span::from_nanos(nanos)
}
