//! One answer as a person writes it.

use stagger_core::{ConfigError, Span};

use super::{Answers, Key, Repeat};

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
    pub fn set(&mut self, key: Key, text: &str) -> Result<(), ConfigError> {
        let text = text.trim();
        match key {
            Key::Retryable => self.retryable = yes(key, text)?,
            Key::Idempotent => self.repeat = repeat(text)?,
            Key::Callers => self.callers = count(key, text, MAX_CALLERS)?,
            Key::Rps => self.rps = known(text, rate)?,
            Key::MinimumWait => self.minimum_wait = known(text, wait)?,
            Key::Background => self.background = yes(key, text)?,
            Key::Slo => self.slo = known(text, slo)?,
            Key::RateLimited => self.rate_limited = yes(key, text)?,
            Key::Layers => self.layers = count(key, text, MAX_LAYERS)?,
        }
        Ok(())
    }

    /// The answer to one question, as it could be written.
    #[must_use]
    pub fn text(&self, key: Key) -> String {
        let yes = |yes| if yes { "yes" } else { "no" }.to_owned();
        let span = |span: Option<Span>| span.map_or_else(|| "none".to_owned(), |s| s.to_string());
        match key {
            Key::Retryable => yes(self.retryable),
            Key::Idempotent => match self.repeat {
                Repeat::Idempotent => "yes".to_owned(),
                Repeat::Keyed => "key".to_owned(),
                Repeat::Never => "no".to_owned(),
            },
            Key::Callers => self.callers.to_string(),
            Key::Rps => self.rps.map_or_else(|| "unknown".to_owned(), |rps| rps.to_string()),
            Key::MinimumWait => span(self.minimum_wait),
            Key::Background => yes(self.background),
            Key::Slo => span(self.slo),
            Key::RateLimited => yes(self.rate_limited),
            Key::Layers => self.layers.to_string(),
        }
    }
}

fn yes(key: Key, text: &str) -> Result<bool, ConfigError> {
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
        _ => Err(ConfigError::new(Key::Idempotent.name(), text, "yes, no or key")),
    }
}

fn count(key: Key, text: &str, most: u32) -> Result<u32, ConfigError> {
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
        ConfigError::new(Key::Rps.name(), text, bound)
    })
}

fn wait(text: &str) -> Result<Span, ConfigError> {
    within(Key::MinimumWait, text, (Span::ZERO, MAX_WAIT))
}

fn slo(text: &str) -> Result<Span, ConfigError> {
    within(Key::Slo, text, (MIN_SLO, MAX_SLO))
}

fn within(key: Key, text: &str, (least, most): (Span, Span)) -> Result<Span, ConfigError> {
    let span: Span = text
        .parse()
        .map_err(|error| ConfigError::new(key.name(), text, format!("{error}, or none")))?;
    if (least..=most).contains(&span) {
        return Ok(span);
    }
    let days = most.as_secs_ceil() / (24 * 60 * 60);
    Err(ConfigError::new(key.name(), text, format!("from {least} to {days}d, or none")))
}
