//! One answer as a person writes it.

use stagger_core::{ConfigError, Span};

use super::{Answers, QuestionKey, Repeat};

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
