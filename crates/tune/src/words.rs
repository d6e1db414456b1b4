//! The results in words: the verdict with its condition, and a policy in one line.

use stagger_core::budget::{BudgetPlan, FloorRate};
use stagger_core::{Policy, Rate};

use crate::paired::PairedDifference;
use crate::tuning::{TuneReport, TuneVerdict};

impl TuneReport {
    /// The verdict in a sentence or two. It holds for the worlds of this search alone, and says so.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (candidates, worlds) = (self.candidates, self.against_default.worlds);
        let (winner, chosen) = (&self.rows[self.winner].name, &self.recommended().name);
        let difference = interval(&self.against_default);
        match self.verdict {
            TuneVerdict::Winner => format!(
                "{chosen} is the best of {candidates} candidates in these worlds: its cost differs from that \
                 of the default policy by {difference} in {worlds} held-out worlds."
            ),
            TuneVerdict::Choose => format!(
                "The answer of stagger choose is recommended: in {worlds} held-out worlds it beats the \
                 default policy, and {winner}, the best of {candidates} candidates in training, does not do better."
            ),
            TuneVerdict::Default => format!(
                "None of {candidates} candidates is known to beat the default policy in these worlds, so the \
                 default is recommended: the cost of {winner}, the best in training, differs from it by \
                 {difference} in {worlds} held-out worlds, which is within noise."
            ),
        }
    }
}

/// A mean with its interval of 95 %.
fn interval(difference: &PairedDifference) -> String {
    let (low, high) = difference.interval();
    format!("{:+.2} (95 % interval {low:+.2} to {high:+.2})", difference.mean)
}

/// A policy in one line: attempts, delays, the time of an attempt, budget, and what else it has.
///
/// ```
/// use stagger_core::Policy;
/// use stagger_tune::summary;
/// let text = "3 attempts, full jitter 100ms..10s, no limit for an attempt, budget 10% and 0.05/s";
/// assert_eq!(summary(&Policy::default()), text);
/// ```
#[must_use]
pub fn summary(policy: &Policy) -> String {
    let limits = policy.limits();
    let timeout = limits.attempt_timeout();
    let timeout = timeout.map_or_else(
        || "no limit for an attempt".to_owned(),
        |limit| format!("{} for an attempt", stagger_text::brief(limit)),
    );
    let mut parts = match limits.max_attempts() {
        Some(1) => vec!["1 attempt".to_owned(), timeout],
        attempts => {
            let attempts = attempts.map_or_else(|| "any".to_owned(), |n| n.to_string());
            let rule = policy.backoff();
            let delay = format!("{} jitter {}..{}", rule.jitter().name(), rule.base(), rule.cap());
            vec![format!("{attempts} attempts"), delay, timeout, budget(policy.budget())]
        }
    };
    if policy.breaker().is_some() {
        parts.push("breaker".to_owned());
    }
    if let Some(hedge) = policy.hedge() {
        parts.push(format!("hedge after {}", stagger_text::brief(hedge.delay(None))));
    }
    if let Some(limit) = policy.concurrency_limit() {
        let queue = if limit.max_queued() > 0 { " and a queue" } else { "" };
        parts.push(format!("at most {} in flight{queue}", limit.max_concurrent()));
    }
    if policy.adaptive().is_some() {
        parts.push("adaptive limit".to_owned());
    }
    parts.join(", ")
}

fn budget(plan: &BudgetPlan) -> String {
    match plan {
        BudgetPlan::Unlimited => "no budget".to_owned(),
        BudgetPlan::None => "no retries granted".to_owned(),
        BudgetPlan::Window(plan) => match plan.floor() {
            floor if floor.rate() == Rate::ZERO => format!("budget {}", plan.ratio()),
            FloorRate::Add(rate) => format!("budget {} and {rate}", plan.ratio()),
            FloorRate::AtLeast(rate) => format!("budget {}, at least {rate}", plan.ratio()),
        },
        BudgetPlan::Tokens(_) => "a token bucket".to_owned(),
        BudgetPlan::Throttle(_) => "a throttle".to_owned(),
        BudgetPlan::Interval(plan) => {
            format!("budget {} in {}", plan.retries(), stagger_text::brief(plan.interval()))
        }
        _ => "a budget".to_owned(),
    }
}
