//! A policy in the making, with the reason for each line.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, HintRule, PolicyBuilder, Span};

use super::Answers;

/// The reason for the value of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineReason {
    /// The key of the policy's text.
    pub key: &'static str,
    /// The reason, one sentence without its full stop.
    pub reason: String,
}

/// The settings that the branches of the tree have decided so far.
pub(super) struct Draft<'a> {
    pub(super) answers: &'a Answers,
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) throttled: Option<Backoff>,
    pub(super) deadline: Span,
    pub(super) attempt_timeout: Span,
    pub(super) hints: HintRule,
    pub(super) budget: BudgetPlan,
    pub(super) breaker: Option<BreakerPlan>,
    pub(super) lines: Vec<LineReason>,
    pub(super) notes: Vec<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(answers: &'a Answers) -> Self {
        Self {
            answers,
            attempts: 1,
            backoff: Backoff::default(),
            throttled: None,
            deadline: Span::ZERO,
            attempt_timeout: Span::ZERO,
            hints: HintRule::default(),
            budget: BudgetPlan::default(),
            breaker: None,
            lines: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Gives the reason for a key.
    pub(super) fn because(&mut self, key: &'static str, reason: impl Into<String>) {
        self.lines.push(LineReason { key, reason: reason.into() });
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The sum of the longest waits between the attempts.
    pub(super) fn waits(&self) -> Span {
        longest(&self.backoff, self.attempts)
            .max(self.throttled.map_or(Span::ZERO, |rule| longest(&rule, self.attempts)))
    }

    pub(super) fn builder(&self) -> PolicyBuilder {
        let mut builder = stagger_core::Policy::builder()
            .backoff(self.backoff)
            .max_attempts(self.attempts)
            .deadline(self.deadline)
            .attempt_timeout(self.attempt_timeout)
            .hints(self.hints)
            .budget(self.budget);
        if let Some(rule) = self.throttled {
            builder = builder.throttled_backoff(rule);
        }
        if let Some(plan) = self.breaker {
            builder = builder.breaker(plan);
        }
        builder
    }
}

/// The sum of the ceilings between so many attempts.
pub(super) fn longest(rule: &Backoff, attempts: u32) -> Span {
    (1..attempts).fold(Span::ZERO, |sum, k| sum.saturating_add(rule.ceiling(k)))
}

/// The span with its first two digits, rounded down: a figure that a person would write.
pub(super) fn neat(span: Span) -> Span {
    let mut unit = 1_u64;
    while span.as_nanos() / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    Span::from_nanos(span.as_nanos() / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neat_span_is_never_longer() {
        for (from, to) in [(222_222_222, 220_000_000), (99, 99), (0, 0), (1_999, 1_900)] {
            assert_eq!(neat(Span::from_nanos(from)), Span::from_nanos(to));
        }
        assert!(neat(Span::MAX) <= Span::MAX);
    }
}
