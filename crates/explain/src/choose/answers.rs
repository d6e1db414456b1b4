//! Facts about the calls, as the questions ask for them.

use stagger_core::{ConfigError, Span};

use crate::Setting;

/// The names of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKey {
    /// Do failures heal by themselves?
    Retryable,
    /// May a call be sent twice?
    Idempotent,
    /// The number of callers that fail together.
    Callers,
    /// The calls a second of one of them.
    Rps,
    /// Must the destination be left alone for some time?
    MinimumWait,
    /// Does nobody wait?
    Background,
    /// The longest time that a call may take.
    Slo,
    /// The time within which nearly all healthy attempts are answered.
    P99,
    /// Does the destination limit its callers?
    RateLimited,
    /// The number of services one behind the other.
    Layers,
}

impl QuestionKey {
    /// Its name, which is that of the flag without its dashes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retryable => "retryable",
            Self::Idempotent => "idempotent",
            Self::Callers => "callers",
            Self::Rps => "rps",
            Self::MinimumWait => "minimum-wait",
            Self::Background => "background",
            Self::Slo => "slo",
            Self::P99 => "p99",
            Self::RateLimited => "rate-limited",
            Self::Layers => "layers",
        }
    }
}

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
    /// The time within which 99 of 100 healthy attempts are answered, where that is known: 1 us to an hour.
    pub p99: Option<Span>,
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
            p99: self.p99,
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
            p99: None,
            rate_limited: false,
            layers: 1,
        }
    }
}

/// A thousand million: the internet has not many more clients.
const MAX_CALLERS: u32 = 1_000_000_000;
/// A chain of more services than this is no chain that anybody draws.
const MAX_LAYERS: u32 = 10;
/// From a call in a quarter of an hour to more than one process makes.
const RPS: (f64, f64) = (0.001, 1_000_000.0);
/// Below this no retry fits, however short its wait.
const MIN_SLO: Span = Span::from_millis(10);
/// A month: what may take longer is a schedule, not a call.
const MAX_SLO: Span = Span::from_secs(30 * 24 * 60 * 60);
/// A call within a host, up to the longest request that any server holds open.
const P99: (Span, Span) = (Span::from_micros(1), Span::from_secs(60 * 60));
/// A day: the cap of webhook schedules.
const MAX_WAIT: Span = Span::from_secs(24 * 60 * 60);

/// The words for an answer that there is not.
const NONE: [&str; 3] = ["none", "no", "unknown"];

impl Answers {
    /// Sets the answer to one question from its text.
    ///
    /// # Errors
    /// The question's name, the text, and what it must be.
    pub fn set(&mut self, key: QuestionKey, text: &str) -> Result<(), ConfigError> {
        let text = text.trim();
        match key {
            QuestionKey::Retryable => self.retryable = yes(key, text)?,
            QuestionKey::Idempotent => self.repeat = repeat(text)?,
            QuestionKey::Callers => self.callers = count(key, text, MAX_CALLERS)?,
            QuestionKey::Rps => self.rps = known(text, rate)?,
            QuestionKey::MinimumWait => self.minimum_wait = known(text, wait)?,
            QuestionKey::Background => self.background = yes(key, text)?,
            QuestionKey::Slo => self.slo = known(text, slo)?,
            QuestionKey::P99 => self.p99 = known(text, p99)?,
            QuestionKey::RateLimited => self.rate_limited = yes(key, text)?,
            QuestionKey::Layers => self.layers = count(key, text, MAX_LAYERS)?,
        }
        Ok(())
    }

    /// The answer to one question, as it could be written.
    #[must_use]
    pub fn text(&self, key: QuestionKey) -> String {
        let yes = |yes| if yes { "yes" } else { "no" }.to_owned();
        let span = |span: Option<Span>| span.map_or_else(|| "none".to_owned(), |s| s.to_string());
        match key {
            QuestionKey::Retryable => yes(self.retryable),
            QuestionKey::Idempotent => match self.repeat {
                Repeat::Idempotent => "yes".to_owned(),
                Repeat::Keyed => "key".to_owned(),
                Repeat::Never => "no".to_owned(),
            },
            QuestionKey::Callers => self.callers.to_string(),
            QuestionKey::Rps => {
                self.rps.map_or_else(|| "unknown".to_owned(), |rps| rps.to_string())
            }
            QuestionKey::MinimumWait => span(self.minimum_wait),
            QuestionKey::Background => yes(self.background),
            QuestionKey::Slo => span(self.slo),
            QuestionKey::P99 => {
                self.p99.map_or_else(|| "unknown".to_owned(), |p99| p99.to_string())
            }
            QuestionKey::RateLimited => yes(self.rate_limited),
            QuestionKey::Layers => self.layers.to_string(),
        }
    }
}

fn yes(key: QuestionKey, text: &str) -> Result<bool, ConfigError> {
    match text {
        "yes" | "y" | "true" => Ok(true),
        "no" | "n" | "false" => Ok(false),
        _ => Err(ConfigError::new(key.name(), text, "yes or no")),
    }
}

fn repeat(text: &str) -> Result<Repeat, ConfigError> {
    match text {
        "yes" | "y" | "true" => Ok(Repeat::Idempotent),
        "key" => Ok(Repeat::Keyed),
        "no" | "n" | "false" => Ok(Repeat::Never),
        _ => Err(ConfigError::new(QuestionKey::Idempotent.name(), text, "yes, no or key")),
    }
}

fn count(key: QuestionKey, text: &str, most: u32) -> Result<u32, ConfigError> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        ConfigError::new(key.name(), text, format!("a whole number from 1 to {most}"))
    })
}

fn known<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, ConfigError>,
) -> Result<Option<T>, ConfigError> {
    if NONE.contains(&text) { Ok(None) } else { read(text).map(Some) }
}

fn rate(text: &str) -> Result<f64, ConfigError> {
    let rate = text.parse().ok().filter(|rate| (RPS.0..=RPS.1).contains(rate));
    rate.ok_or_else(|| {
        let bound = format!("a number from {} to {}, or unknown", RPS.0, RPS.1);
        ConfigError::new(QuestionKey::Rps.name(), text, bound)
    })
}

fn wait(text: &str) -> Result<Span, ConfigError> {
    within(QuestionKey::MinimumWait, text, (Span::ZERO, MAX_WAIT))
}

fn slo(text: &str) -> Result<Span, ConfigError> {
    within(QuestionKey::Slo, text, (MIN_SLO, MAX_SLO))
}

fn p99(text: &str) -> Result<Span, ConfigError> {
    let (least, most) = P99;
    let bound = format!("a span from {least} to {most}, or unknown");
    let span = text.parse().ok().filter(|span| (least..=most).contains(span));
    span.ok_or_else(|| ConfigError::new(QuestionKey::P99.name(), text, bound))
}

fn within(key: QuestionKey, text: &str, (least, most): (Span, Span)) -> Result<Span, ConfigError> {
    let span: Span = text
        .parse()
        .map_err(|error| ConfigError::new(key.name(), text, format!("{error}, or none")))?;
    if (least..=most).contains(&span) {
        return Ok(span);
    }
    let days = most.as_secs_ceil() / (24 * 60 * 60);
    Err(ConfigError::new(key.name(), text, format!("from {least} to {days}d, or none")))
}
