//! Budgets: Finagle's and Envoy's retry budgets, and where the AWS bucket breaks even.

use serde::Deserialize;
use stagger_core::budget::{
    Budget, Charge, FloorRate, Paid, Settled, TokenPlan, TokenState, WindowPlan,
};
use stagger_core::{ConfigError, Entropy, Instant, Rate, Ratio, Span};

use super::Suite;
use crate::Mix;

const FINAGLE: &str = include_str!("../../../../vectors/budgets/finagle-retry-budget.json");
const ENVOY: &str = include_str!("../../../../vectors/budgets/envoy-retry-budget.json");
const BREAKEVEN: &str = include_str!("../../../../vectors/budgets/aws-quota-breakeven.json");

/// The files freeze time.
const NOW: Instant = Instant::ORIGIN;

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    vec![finagle(), envoy(), breakeven()]
}

#[derive(Deserialize)]
struct Finagle {
    n: u64,
    cases: Vec<BudgetRow>,
    deposits_first: Deposits,
    invalid: Vec<BudgetRow>,
    always_empty: Vec<BudgetRow>,
    regression_tower_857: Tower,
}

#[derive(Clone, Debug, Deserialize)]
struct BudgetRow {
    ttl_s: u64,
    min_per_sec: i64,
    percent: f64,
}

#[derive(Deserialize)]
struct Deposits {
    #[serde(flatten)]
    row: BudgetRow,
    n: u64,
    initial_balance: u64,
    balance_after: u64,
}

#[derive(Deserialize)]
struct Tower {
    #[serde(flatten)]
    row: BudgetRow,
    deposits: u64,
    withdrawals_tried: u64,
    max_allowed: u64,
}

impl BudgetRow {
    /// A negative floor has no type of ours to stand in: it is refused where it is read.
    fn plan(&self) -> Result<WindowPlan, ConfigError> {
        let floor = u32::try_from(self.min_per_sec)
            .map_err(|_| ConfigError::new("budget.floor", self.min_per_sec, "at least 0"))?;
        WindowPlan::new(Ratio::try_from(self.percent)?)?
            .with_window(Span::from_secs(self.ttl_s))?
            .with_floor(FloorRate::Add(Rate::per_second(floor)))
            .with_burst(0)
    }

    fn budget(&self) -> Budget {
        Budget::new(self.plan().expect("the file lists it as valid").into())
    }

    /// `floor(n * percent) + ttl * min_per_sec`, in whole millionths.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the file's ratios lie from 0 to 2"
    )]
    fn expected(&self, n: u64) -> u64 {
        let parts = (self.percent * 1e6).round() as u64;
        n * parts / 1_000_000 + self.ttl_s * self.min_per_sec.unsigned_abs()
    }
}

/// The file tolerates an error of one retry; we answer exactly.
fn finagle() -> Suite {
    let file: Finagle = serde_json::from_str(FINAGLE).expect("the vector file is valid JSON");
    let mut suite = Suite::new("budgets/finagle-retry-budget.json");
    for row in &file.cases {
        suite.check(format!("{row:?}"), &deposit_and_ask(row, file.n), &(row.expected(file.n), 0));
    }
    for row in &file.invalid {
        suite.check(format!("invalid {row:?}"), &row.plan().is_err(), &true);
    }
    for row in &file.always_empty {
        suite.check(format!("always empty {row:?}"), &deposit_and_ask(row, file.n), &(0, 0));
    }
    let first = file.deposits_first;
    let mut budget = first.row.budget();
    let initial = budget.level(NOW).retries;
    (0..first.n).for_each(|_| budget.on_first(NOW));
    let got = (initial, budget.level(NOW).retries);
    suite.check("deposits_first", &got, &(first.initial_balance, first.balance_after));
    let tower = file.regression_tower_857;
    let mut budget = tower.row.budget();
    (0..tower.deposits).for_each(|_| budget.on_first(NOW));
    let granted = granted(&mut budget, tower.withdrawals_tried);
    suite.check("regression_tower_857", &granted, &tower.max_allowed);
    suite
}

/// Grants among `n` calls that each ask once, and the most that was left when one was refused.
fn deposit_and_ask(row: &BudgetRow, n: u64) -> (u64, u64) {
    let mut budget = row.budget();
    let (mut granted, mut left) = (0, 0);
    for _ in 0..n {
        budget.on_first(NOW);
        match budget.ask(NOW, Charge::Retry) {
            Some(_) => granted += 1,
            None => left = left.max(budget.level(NOW).retries),
        }
    }
    (granted, left)
}

fn granted(budget: &mut Budget, asks: u64) -> u64 {
    (0..asks)
        .filter_map(|_| budget.ask(NOW, Charge::Retry))
        .map(|paid| u64::from(paid.amount()))
        .sum()
}

#[derive(Deserialize)]
struct Envoy {
    cases: Vec<Active>,
}

#[derive(Debug, Deserialize)]
struct Active {
    percent: u32,
    min: u32,
    active: u64,
    pending: u64,
    limit: u64,
}

/// Envoy measures calls in flight, we measure first attempts in a window: all of Envoy's start
/// within one second here, the shortest window, so that the two bases are equal.
fn envoy() -> Suite {
    let file: Envoy = serde_json::from_str(ENVOY).expect("the vector file is valid JSON");
    let mut suite = Suite::new("budgets/envoy-retry-budget.json");
    for row in &file.cases {
        let floor = FloorRate::AtLeast(Rate::per_second(row.min));
        let plan = WindowPlan::new(Ratio::from_percent(row.percent))
            .and_then(|plan| plan.with_window(Span::from_secs(1)))
            .and_then(|plan| plan.with_floor(floor).with_burst(0));
        let mut budget = Budget::new(plan.expect("the file's rows are valid").into());
        (0..row.active + row.pending).for_each(|_| budget.on_first(NOW));
        suite.check(format!("{row:?}"), &granted(&mut budget, 10 * row.limit), &row.limit);
    }
    suite
}

#[derive(Deserialize)]
struct Breakeven {
    rows: Vec<Cost>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Cost {
    cost: u32,
    max_attempts: u32,
    p: f64,
}

/// Calls simulated for one drift: the standard error of the mean is below 0.02 tokens a call.
const CALLS: u32 = 400_000;

/// At the file's failure probability the bucket neither drains nor fills; two points of
/// probability below it fills, two above it drains.
fn breakeven() -> Suite {
    let file: Breakeven = serde_json::from_str(BREAKEVEN).expect("the vector file is valid JSON");
    let mut suite = Suite::new("budgets/aws-quota-breakeven.json");
    for row in file.rows {
        let at = |shift: f64| drift(row, row.p + shift);
        let (below, even, above) = (at(-0.02), at(0.0), at(0.02));
        let got = (below > 0.1, even.abs() < 0.06, above < -0.1);
        let shown = format!("{row:?}: drift {below:+.3} below, {even:+.3} at, {above:+.3} above");
        suite.check(shown, &got, &(true, true, true));
    }
    suite
}

/// The mean change of the bucket by one call whose attempts fail with probability `p`.
///
/// Each call finds a bucket so large and half full that neither end is ever met.
fn drift(row: Cost, p: f64) -> f64 {
    const HALF: u32 = 500_000;
    let plan = TokenPlan::new(2 * HALF, row.cost).and_then(|plan| plan.with_initial(HALF));
    let plan = plan.expect("the file's costs are small");
    let mut chance = Mix::new(20_260_101);
    let sum: i64 = (0..CALLS).map(|_| change(&plan, row.max_attempts, p, &mut chance)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a sum of some million tokens")]
    let sum = sum as f64;
    sum / f64::from(CALLS)
}

/// The change of the bucket by one call.
fn change(plan: &TokenPlan, max_attempts: u32, p: f64, chance: &mut Mix) -> i64 {
    let (mut state, mut last) = (plan.start(), Settled::FirstTry);
    for attempt in 1..=max_attempts {
        if !fails(p, chance) {
            state = plan.on_settled(state, last);
            break;
        }
        state = plan.on_settled(state, Settled::Failed);
        if attempt < max_attempts {
            let (paid, after): (Paid, TokenState) =
                plan.ask(state, Charge::Retry).expect("half a million tokens outlast a call");
            (state, last) = (after, Settled::AfterRetry(paid));
        }
    }
    signed(state) - signed(plan.start())
}

fn signed(state: TokenState) -> i64 {
    i64::try_from(state.tokens()).expect("a bucket holds at most a million")
}

fn fails(p: f64, chance: &mut Mix) -> bool {
    // The upper 53 bits are exact in a float.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
    let unit = (chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    unit < p
}
