//! Events of a call: an attempt as data, and the end; as a line for people, and as JSON.

use reqwest::Response;
use reqwest::header::HeaderMap;
use serde::Serialize;
use stagger::reqwest::SendError;
use stagger::{AttemptEnd, CallReport, NextStep, StdTime};
use stagger_core::hint::HintReader;
use stagger_core::retry::Stop;
use stagger_core::{Entropy, Hint, Policy, Span};

use super::policy;
use super::policy::{AttemptsMade, HttpFailure};

/// One attempt that has settled.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AttemptEvent {
    event: &'static str,
    attempt: u32,
    at_ms: f64,
    status: Option<u16>,
    error: Option<String>,
    verdict: &'static str,
    cause: &'static str,
    hint_ms: Option<f64>,
    hint_header: Option<&'static str>,
    delay_ms: Option<f64>,
    /// The source of the delay: the server's hint, which it is not shorter than, or the policy.
    delay_from: Option<&'static str>,
    stop_reason: Option<&'static str>,
    #[serde(skip)]
    words: Words,
}

/// The same as people read it.
#[derive(Clone, Debug)]
struct Words {
    result: String,
    hint: String,
    next: String,
}

impl AttemptEvent {
    /// The event of this attempt under this policy, after those of the past.
    pub(super) fn of(
        ended: &AttemptEnd<'_, Response, SendError>,
        policy: &Policy,
        made: AttemptsMade,
    ) -> Self {
        let (verdict, cause) = (ended.outcome.verdict, ended.outcome.cause);
        let reply = ended.result.and_then(|result| result.as_ref().ok());
        let error = match ended.result {
            Some(Ok(_)) => None,
            Some(Err(error)) => Some(policy::words(error)),
            None => Some("no reply in time".to_owned()),
        };
        let hint = ended.outcome.hint;
        let header = hint.and(reply).and_then(|reply| hint_source(reply.headers()));
        let (delay, stop) = match ended.next {
            NextStep::Retry(delay) => (Some(delay), None),
            NextStep::Stop(stop) => (None, Some(stop)),
            _ => (None, None),
        };
        let from = delay.map(|delay| if is_of(delay, hint, policy) { "hint" } else { "own" });
        let result = reply.map(status_words).or_else(|| error.clone()).unwrap_or_default();
        let words =
            Words { result, hint: hint_words(hint, header), next: next_words(delay, from, stop) };
        Self {
            event: "attempt",
            attempt: made.attempts + ended.number,
            at_ms: ms(made.elapsed + ended.at),
            status: reply.map(|reply| reply.status().as_u16()),
            error,
            verdict: verdict.name(),
            cause: cause.name(),
            hint_ms: hint.and_then(Hint::span).map(ms),
            hint_header: header,
            delay_ms: delay.map(ms),
            delay_from: from,
            stop_reason: stop.map(Stop::name),
            words,
        }
    }

    /// One line, in columns; `of` is how many attempts there may be.
    pub(super) fn line(&self, of: Option<u32>) -> String {
        let Words { result, hint, next } = &self.words;
        let digits = of.map_or(1, |of| of.to_string().len());
        let line = format!("attempt {:>digits$}  {:<11}  {result:<24}", self.attempt, self.verdict);
        let hint = if hint.is_empty() { String::new() } else { format!("  {hint}") };
        let next = if next.is_empty() { String::new() } else { format!("  {next}") };
        format!("{line}{hint}{next}").trim_end().to_owned()
    }
}

/// A body that broke off.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BodyEvent<'a> {
    event: &'static str,
    attempt: u32,
    at_ms: f64,
    error: &'a str,
    received_bytes: u64,
    delay_ms: Option<f64>,
    #[serde(skip)]
    delay: Option<Span>,
}

impl<'a> BodyEvent<'a> {
    /// The last attempt of the past had this body.
    pub(super) fn of(
        made: AttemptsMade,
        error: &'a str,
        received: u64,
        delay: Option<Span>,
    ) -> Self {
        Self {
            event: "body",
            attempt: made.attempts,
            at_ms: ms(made.elapsed),
            error,
            received_bytes: received,
            delay_ms: delay.map(ms),
            delay,
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let next = next_words(self.delay, None, None);
        let next = if next.is_empty() { next } else { format!("; {next}") };
        format!(
            "body of attempt {}: {} after {} bytes{next}",
            self.attempt, self.error, self.received_bytes
        )
    }
}

/// The end of a call.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EndEvent {
    event: &'static str,
    stop_reason: Option<&'static str>,
    attempts: u32,
    elapsed_ms: f64,
    hint_ms: Option<f64>,
    #[serde(skip)]
    words: String,
}

impl EndEvent {
    /// The event of the end: of the last call, or of the body that it lost.
    pub(super) fn of(
        report: &CallReport,
        made: AttemptsMade,
        failure: Option<&HttpFailure>,
    ) -> Self {
        let (stop, attempts) = (report.stop(), made.attempts);
        let body = failure.filter(|_| stop == Some(Stop::Succeeded)).and_then(HttpFailure::of_body);
        let s = if attempts == 1 { "" } else { "s" };
        let why = match body {
            Some((_, why)) => why.to_owned(),
            None => stop.map_or_else(|| "cancelled".to_owned(), |stop| stop.to_string()),
        };
        let hint = report.hint().filter(|_| stop != Some(Stop::Succeeded));
        let away = hint.map_or_else(String::new, |hint| {
            format!("; the server asks to stay away for {}", rounded(hint))
        });
        let elapsed = rounded(made.elapsed);
        Self {
            event: "end",
            stop_reason: body.map(|(name, _)| name).or_else(|| stop.map(Stop::name)),
            attempts,
            elapsed_ms: ms(made.elapsed),
            hint_ms: report.hint().map(ms),
            words: format!("end: {why} after {attempts} attempt{s} in {elapsed}{away}"),
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> &str {
        &self.words
    }
}

fn status_words(reply: &Response) -> String {
    let status = reply.status();
    status.canonical_reason().map_or_else(|| status.as_str().to_owned(), |_| status.to_string())
}

fn hint_words(hint: Option<Hint>, header: Option<&'static str>) -> String {
    let header = header.map_or_else(String::new, |header| format!(" ({header})"));
    match hint {
        None => String::new(),
        Some(Hint::Never) => format!("hint: never again{header}"),
        Some(Hint::AtLeast(span)) => format!("hint {}{header}", rounded(span)),
        Some(Hint::Exactly(span)) => format!("hint {} exactly{header}", rounded(span)),
        Some(hint) => match hint.span() {
            Some(span) => format!("hint {}{header}", rounded(span)),
            None => format!("hint{header}"),
        },
    }
}

fn next_words(delay: Option<Span>, from: Option<&str>, stop: Option<Stop>) -> String {
    match (delay, stop) {
        (Some(delay), _) if delay.is_zero() => "again at once".to_owned(),
        (Some(delay), _) if from == Some("hint") => {
            format!("again in {} by the hint", rounded(delay))
        }
        (Some(delay), _) => format!("again in {}", rounded(delay)),
        (None, Some(Stop::Succeeded) | None) => String::new(),
        (None, Some(stop)) => format!("stop: {stop}"),
    }
}

/// Whether a delay follows from the hint: it lies between the hint and the most that is spread above.
fn is_of(delay: Span, hint: Option<Hint>, policy: &Policy) -> bool {
    match hint {
        Some(Hint::Exactly(_)) => true,
        Some(Hint::AtLeast(hint)) if !hint.is_zero() => {
            delay >= hint && delay <= policy.hints().delay(Span::ZERO, hint, &mut Highest)
        }
        _ => false,
    }
}

/// Draws the upper end of every range.
struct Highest;

impl Entropy for Highest {
    fn next_u64(&mut self) -> u64 {
        u64::MAX
    }
}

/// Milliseconds to the microsecond.
fn ms(span: Span) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// A span as people want it: three digits or so.
pub(super) fn rounded(span: Span) -> Span {
    const STEPS: [(Span, u64); 3] = [
        (Span::from_secs(10), 100_000_000),
        (Span::from_secs(1), 10_000_000),
        (Span::from_millis(10), 1_000_000),
    ];
    let step = STEPS.iter().find(|(from, _)| span >= *from).map_or(10_000, |(_, step)| *step);
    // Rounded up, because a hint that is written shorter than it is would be a lie.
    Span::from_nanos(span.as_nanos().div_ceil(step).saturating_mul(step))
}

/// The header that the engine obeys; `None` where no header gives a hint.
pub(super) fn hint_source(headers: &HeaderMap) -> Option<&'static str> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let lines: Vec<_> = lines.collect();
    let now = Some(StdTime::wall().into());
    HintReader::new().read_with_source(lines.iter().copied(), now).map(|(_, source)| source)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn source(lines: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let line =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        hint_source(&lines.iter().map(line).collect())
    }

    #[test]
    fn the_header_that_is_obeyed_is_named() {
        assert_eq!(source(&[]), None);
        assert_eq!(source(&[("retry-after", "soon")]), None);
        assert_eq!(source(&[("retry-after", "3")]), Some("retry-after"));
        assert_eq!(
            source(&[("retry-after", "3"), ("retry-after-ms", "20")]),
            Some("retry-after-ms")
        );
        let date = [("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        let later = [date[0], ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")];
        assert_eq!(source(&later), Some("retry-after"));
        let reset = [("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "0")];
        assert_eq!(source(&reset), Some("x-ratelimit-reset"));
        let left = [("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "7")];
        assert_eq!(source(&left), None);
    }
}
