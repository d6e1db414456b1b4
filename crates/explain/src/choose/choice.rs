//! The walk through the tree, and the policy that it drafts with the reason for each line.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, ConfigError, HintRule, Policy, PolicyBuilder, Span};

use super::{Answers, Repeat};

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
        let mut builder = Policy::builder()
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

/// A policy with its reasons, or the reason for none.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The policy; `None` when these calls should not be retried at all, for the reason in `notes`.
    pub policy: Option<Policy>,
    /// The reason for each line, by the key of the policy's text, such as `backoff.base`.
    pub lines: Vec<LineReason>,
    /// Notes on what no line of a policy can do.
    pub notes: Vec<String>,
}

impl Choice {
    /// The reason for a key, or for the table that it is the last part of.
    #[must_use]
    pub fn reason(&self, key: &str) -> Option<&str> {
        let of = |line: &&LineReason| {
            key.strip_prefix(line.key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.lines.iter().find(of).map(|line| line.reason.as_str())
    }
}

/// The policy that an expert would defend for these calls.
///
/// # Errors
/// None for answers within the bounds that their fields name.
///
/// ```
/// use stagger_explain::{Answers, choose};
/// let hopeless = Answers { retryable: false, ..Answers::default() };
/// let choice = choose(&hopeless)?;
/// assert!(choice.policy.is_none());
/// assert!(choice.notes[0].contains("does not heal"));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
pub fn choose(answers: &Answers) -> Result<Choice, ConfigError> {
    if !answers.retryable {
        let reason = "No policy: what does not heal by itself fails again, and every retry is load \
                      (permanent failures are never retried, whatever the policy). Mend the call, \
                      or hand the error to its caller.";
        return Ok(Choice { policy: None, lines: Vec::new(), notes: vec![reason.to_owned()] });
    }
    let mut draft = Draft::new(answers);
    draft.settle_attempts();
    draft.settle_delays()?;
    draft.settle_times();
    draft.settle_hints()?;
    draft.settle_budget()?;
    draft.settle_breaker()?;
    draft.settle_refusals();
    draft.advise();
    let policy = draft.finish()?;
    Ok(Choice { policy: Some(policy), lines: draft.lines, notes: draft.notes })
}

impl Draft<'_> {
    /// Background work has the patience for a breaker, and must not turn a refusal into a hot loop.
    fn settle_refusals(&mut self) {
        if self.waits_for_breaker() {
            self.because(
                "on_refusal.wait_for_breaker",
                "nobody waits, so there is time for an open breaker to admit probes",
            );
        }
        if self.is_patient() {
            self.because(
                "on_refusal.pause_when_empty",
                "a job that goes on with its next item at once would be a hot loop",
            );
        }
    }

    /// Notes on what no line can do.
    fn advise(&mut self) {
        match self.answers.repeat {
            Repeat::Idempotent => {}
            Repeat::Keyed => self.note(
                "Make one Idempotency-Key for each call, the same on all its attempts, and start \
                 the call as idempotent; the server must remember keys for longer than the deadline.",
            ),
            Repeat::Never => self.note(
                "To have retries, send an Idempotency-Key that the server remembers (one for each \
                 call, the same on all attempts), and answer `key`. Look first, then send again, is \
                 another way. (With more attempts, calls that are not started as idempotent are \
                 repeated only where the server cannot have acted on them.)",
            ),
        }
        if self.answers.layers > 1 && self.attempts > 1 {
            let (layers, attempts) = (self.answers.layers, self.attempts);
            let worst = u64::from(attempts).saturating_pow(layers);
            self.note(format!(
                "Retry in one layer only, the one next to what fails: {layers} layers of {attempts} \
                 attempts make {worst} calls of one. Within a process the nested guard sees to it; \
                 between services give the others max_attempts = 1."
            ));
        }
        if self.attempts > 1 {
            self.advise_pace();
            self.note(
                "Keep one retrier for each destination and share it: budget and breaker protect \
                 only those who share them.",
            );
        }
    }

    const fn is_patient(&self) -> bool {
        self.answers.background && self.attempts > 1
    }

    /// Such a wait lasts up to the deadline, which is all of an SLO.
    const fn waits_for_breaker(&self) -> bool {
        self.is_patient() && self.answers.slo.is_none()
    }

    fn finish(&self) -> Result<Policy, ConfigError> {
        let builder = self.builder().wait_for_breaker(self.waits_for_breaker());
        builder.pause_when_empty(self.is_patient()).build()
    }
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
