//! The facts about the calls that a policy is for, and the explanation of the policy, as data.

use stagger_core::Span;

use crate::PolicyFinding;

/// The effects of a policy on a call, and on a destination that fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// One row an attempt, as far as they are shown.
    pub attempts: Vec<PlannedAttempt>,
    /// The reason why the rows end.
    pub extent: Extent,
    /// The method of the delays of the rows.
    pub method: Method,
    /// The same rows after throttled verdicts, where those have a backoff of their own.
    pub throttled: Option<Vec<PlannedAttempt>>,
    /// The longest that a call may wait in all, attempts not counted.
    pub worst_waits: Span,
    /// The longest that a call may take: waits and attempts. None when nothing bounds it.
    pub worst_case: Option<Span>,
    /// The same when the server asks for the longest wait that is obeyed before each retry.
    pub worst_case_hinted: Option<Span>,
    /// The worst case against the SLO, where one is known.
    pub slo: Option<SloCheck>,
    /// The longest outage that a call rides out, when its attempts fail at once.
    pub rides_out: Quantiles,
    /// Attempts for each call at failure rates of 10, 50 and 100 %.
    pub load: [LoadFactor; 3],
    /// Attempts at the lowest layer for each call at the top, when all attempts fail: without and
    /// with the nested guard.
    pub amplification: Option<(u64, u64)>,
    /// The fleet's retries against what the destination serves.
    pub fleet: Option<FleetBudget>,
    /// The share of delays that sit exactly on the cap.
    pub cap_share: CapShare,
    /// The findings.
    pub findings: Vec<PolicyFinding>,
}

/// One attempt of the time line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedAttempt {
    /// Its number; the first is 1.
    pub attempt: u32,
    /// The ceiling of the delay before it; before the first there is none.
    pub ceiling: Span,
    /// The shortest that this delay may be.
    pub shortest: Span,
    /// The longest: above the ceiling under symmetric jitter.
    pub longest: Span,
    /// Its mean.
    pub mean: Span,
    /// Its median.
    pub p50: Span,
    /// The 99th percentile of the delay.
    pub p99: Span,
    /// The earliest start of the attempt, when attempts before it fail at once.
    pub cumulative_best: Span,
    /// Its mean start, of the calls that come so far.
    pub cumulative_mean: Span,
    /// Its latest start.
    pub cumulative_worst: Span,
    /// The share of calls failing alone that come so far before deadline and budget, from 0 to 1.
    pub reached: f64,
}

/// The reason why the rows of a time line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// With the last attempt.
    Attempts,
    /// With the deadline: further attempts are allowed, and hardly a call comes so far.
    Deadline,
    /// With the budget: it refuses further attempts even to a call that fails alone.
    Budget,
    /// At the most rows that are shown.
    Rows,
}

/// The method of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By arithmetic.
    Exact,
    /// From so many calls with a fixed seed.
    Sample {
        /// The calls.
        calls: u32,
    },
}

/// The worst case against an SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SloCheck {
    /// The time for retries: a third of the SLO; the rest is for the work.
    pub limit: Span,
    /// Whether the worst case stays within, as long as the server asks for no wait.
    pub ok: bool,
    /// Whether a call stays within the whole SLO when the server asks for the longest wait that is
    /// obeyed before each retry.
    pub hinted_ok: bool,
}

/// Low and middle of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// The length that 95 of 100 exceed.
    pub p5: Span,
    /// The length that half of them exceed.
    pub p50: Span,
    /// The method of the figures.
    pub method: Method,
}

/// Attempts for each call while a share of attempts fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadFactor {
    /// The share that fails, in percent.
    pub failing_percent: u32,
    /// Without the budget.
    pub without_budget: f64,
    /// With it, once it has settled; without a known rate, as it is under much traffic.
    pub with_budget: f64,
    /// The method of the figure with the budget.
    pub method: Method,
}

/// The retries that the budgets of a fleet let through together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetBudget {
    /// Retries a second that all processes may make in a total outage.
    pub retries_per_s: f64,
    /// First attempts a second of all processes.
    pub firsts_per_s: f64,
    /// Retries that all processes may make at once when it begins; infinite when nothing bounds them.
    pub burst: f64,
    /// The calls a second that the destination serves, where that is known.
    pub capacity_per_s: Option<f64>,
}

/// The share of delays that sit exactly on the cap, over the retries of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapShare {
    /// Of all delays of a call that fails throughout.
    pub of_all: f64,
    /// Of the last delay.
    pub of_last: f64,
}

/// Facts about the calls that a policy is for; an unknown fact is not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// The longest time that a call may take, retries included.
    pub slo: Option<Span>,
    /// The time within which 99 of 100 healthy attempts are answered.
    pub p99: Option<Span>,
    /// First attempts a second of one process.
    pub rps: Option<f64>,
    /// Processes that call the same destination.
    pub fleet: Option<u32>,
    /// Calls a second that the destination serves.
    pub downstream_capacity: Option<f64>,
    /// Services of a chain, one above the other, each of which retries under this policy.
    pub layers: Option<u32>,
    /// Whether the calls may be repeated without harm.
    pub idempotent: Option<bool>,
}
