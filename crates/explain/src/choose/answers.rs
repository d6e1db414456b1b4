//! Facts about the calls, as the questions ask for them.

use stagger_core::Span;

use crate::Setting;

/// Facts about some calls; the default has the usual answers.
///
/// ```
/// use stagger_core::Span;
/// use stagger_explain::{Answers, QuestionKey, choose};
/// let mut answers = Answers::default();
/// answers.set(QuestionKey::Idempotent, "yes")?;
/// answers.set(QuestionKey::Slo, "2s")?;
/// let policy = choose(&answers)?.policy.expect("failures that heal are retried");
/// assert_eq!(policy.limits().deadline(), Some(Span::from_secs(2)));
/// let error = answers.set(QuestionKey::Callers, "0").unwrap_err();
/// assert_eq!(error.to_string(), "callers = 0: must be a whole number from 1 to 1000000000");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answers {
    /// Whether failures heal by themselves: a restart, a lost packet, an overload.
    pub retryable: bool,
    /// Whether the same call may be sent twice.
    pub repeat: Repeat,
    /// Processes that call the same destination, and so fail together: 1 to 1 000 000 000.
    pub callers: u32,
    /// Calls a second of one of them, first attempts only, where that is known: 0.001 to 1 000 000.
    pub rps: Option<f64>,
    /// The shortest wait that the destination needs before it is asked again, at most a day.
    pub minimum_wait: Option<Span>,
    /// Whether nobody waits for the answer.
    pub background: bool,
    /// The longest time that a call may take in all, 10 ms to 30 days.
    pub slo: Option<Span>,
    /// Whether the destination limits its callers and says so (429, Retry-After).
    pub rate_limited: bool,
    /// Services one behind the other, each of which could retry: 1 to 10.
    pub layers: u32,
}

/// Whether a call may be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It has the effect of once, as GET, PUT and DELETE do (RFC 9110 section 9.2.2).
    Idempotent,
    /// It carries a key by which the server knows it again.
    Keyed,
    /// It would happen twice.
    Never,
}

impl Answers {
    /// The same facts as the lint and `explain` take them: what the policy is judged by.
    ///
    /// The policy is for one layer of the chain, so there is one layer that retries under it.
    #[must_use]
    pub fn setting(&self) -> Setting {
        Setting {
            slo: self.slo,
            rps: self.rps,
            fleet: Some(self.callers),
            downstream_capacity: None,
            layers: Some(1),
            idempotent: Some(self.repeat != Repeat::Never),
        }
    }
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            retryable: true,
            repeat: Repeat::Never,
            callers: 100,
            rps: None,
            minimum_wait: None,
            background: false,
            slo: None,
            rate_limited: false,
            layers: 1,
        }
    }
}
