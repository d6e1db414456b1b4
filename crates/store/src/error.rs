//! The one error of this crate, and the backoff between calls to a store that does not answer.

use std::fmt;

use stagger::{Backoff, ConfigError, OsEntropy, Sleep, Span, TokioTime};

/// Why something asked of the dispatcher was not done; nothing of it was done then.
///
/// ```
/// use stagger_store::Error;
/// let error = Error::invalid("endpoint.url", "ftp://x", "an http or https address");
/// assert!(error.is_invalid());
/// assert_eq!(error.to_string(), "endpoint.url = ftp://x: must be an http or https address");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorCause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ErrorCause {
    Invalid(ConfigError),
    NotFound(&'static str),
    Conflict(String),
    Busy(String),
    OverShare(String),
    Rejected(Box<RejectedEvent>),
    Store(String),
}

/// A message that the catalogue of event types refuses. It shows nothing of the payload but names of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedEvent {
    /// Its position among the messages of the call.
    pub message: usize,
    /// The part that is wrong: `event_type` or `payload`.
    pub field: &'static str,
    /// The reason in words.
    pub why: String,
    /// The JSON pointer of the first place of the payload that breaks the schema of its type, if it is known.
    pub pointer: Option<String>,
    /// The keyword of the schema that the place breaks.
    pub keyword: Option<String>,
}

impl Error {
    /// A value out of its bounds; the message names field, value and bound.
    pub fn invalid(field: &'static str, value: impl ToString, bound: impl Into<String>) -> Self {
        ConfigError::new(field, value, bound).into()
    }

    /// There is no such thing: "endpoint", "message", ...
    #[must_use]
    pub const fn not_found(what: &'static str) -> Self {
        Self { kind: ErrorCause::NotFound(what) }
    }

    /// A conflict with the existing state.
    pub fn conflict(why: impl Into<String>) -> Self {
        Self { kind: ErrorCause::Conflict(why.into()) }
    }

    /// There is no room for it now; later there will be.
    pub fn busy(why: impl Into<String>) -> Self {
        Self { kind: ErrorCause::Busy(why.into()) }
    }

    /// The caller has all that it may have; when some of it is done, there is room again.
    pub fn over_share(why: impl Into<String>) -> Self {
        Self { kind: ErrorCause::OverShare(why.into()) }
    }

    /// The store did not do it: a full disk, a lock, a lost connection.
    pub fn store(why: impl Into<String>) -> Self {
        Self { kind: ErrorCause::Store(why.into()) }
    }

    /// The catalogue of event types refuses a message.
    #[must_use]
    pub fn rejected(event: RejectedEvent) -> Self {
        Self { kind: ErrorCause::Rejected(Box::new(event)) }
    }

    /// The message that the catalogue of event types refuses, if that is the error.
    #[must_use]
    pub fn as_rejected(&self) -> Option<&RejectedEvent> {
        match &self.kind {
            ErrorCause::Rejected(event) => Some(event),
            _ => None,
        }
    }

    /// Whether a value was out of its bounds.
    #[must_use]
    pub const fn is_invalid(&self) -> bool {
        matches!(self.kind, ErrorCause::Invalid(_))
    }

    /// The value that was out of its bounds, if that is the error.
    #[must_use]
    pub const fn as_invalid(&self) -> Option<&ConfigError> {
        match &self.kind {
            ErrorCause::Invalid(error) => Some(error),
            _ => None,
        }
    }

    /// Whether there is no such thing.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self.kind, ErrorCause::NotFound(_))
    }

    /// Whether it is a conflict with the existing state.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self.kind, ErrorCause::Conflict(_))
    }

    /// Whether asking again later can help: no room, or a store that is away.
    #[must_use]
    pub const fn is_unavailable(&self) -> bool {
        matches!(self.kind, ErrorCause::Busy(_) | ErrorCause::OverShare(_) | ErrorCause::Store(_))
    }

    /// Whether the store itself failed.
    #[must_use]
    pub const fn is_store_failure(&self) -> bool {
        matches!(self.kind, ErrorCause::Store(_))
    }

    /// Whether the caller alone has used up its share.
    #[must_use]
    pub const fn is_over_share(&self) -> bool {
        matches!(self.kind, ErrorCause::OverShare(_))
    }

    /// The same error of a later part of a call, before which there are `others` messages.
    #[must_use]
    pub fn after_messages(mut self, others: usize) -> Self {
        if let ErrorCause::Rejected(event) = &mut self.kind {
            event.message += others;
        }
        self
    }

    /// The same error with more to know, if its text is free.
    #[must_use]
    pub fn with_note(mut self, note: &str) -> Self {
        match &mut self.kind {
            ErrorCause::Invalid(_) | ErrorCause::NotFound(_) => {}
            ErrorCause::Rejected(event) => {
                event.why.push_str("; ");
                event.why.push_str(note);
            }
            ErrorCause::Conflict(text)
            | ErrorCause::Busy(text)
            | ErrorCause::OverShare(text)
            | ErrorCause::Store(text) => {
                text.push_str("; ");
                text.push_str(note);
            }
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorCause::Invalid(error) => error.fmt(f),
            ErrorCause::NotFound(what) => write!(f, "no such {what}"),
            ErrorCause::Conflict(why) | ErrorCause::Busy(why) | ErrorCause::OverShare(why) => {
                f.write_str(why)
            }
            ErrorCause::Rejected(event) => f.write_str(&event.why),
            ErrorCause::Store(why) => write!(f, "the store failed: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ErrorCause::Invalid(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self { kind: ErrorCause::Invalid(error) }
    }
}

/// First ceiling: a lock or a failover is often over by then.
const BASE: Span = Span::from_millis(100);

/// Longest wait: a disk that has room again is noticed within it.
const CAP: Span = Span::from_secs(5);

/// The engine's backoff with full jitter, without an end: giving up would lose settlements.
#[derive(Debug)]
pub struct StoreBackoff {
    backoff: Backoff,
    retries: u32,
    prev: Span,
}

impl Default for StoreBackoff {
    fn default() -> Self {
        let backoff = Backoff::exponential(BASE, CAP).expect("the base is below the cap");
        Self { backoff, retries: 0, prev: Span::ZERO }
    }
}

impl StoreBackoff {
    /// Waits once more, longer than before in the mean.
    pub async fn wait(&mut self) {
        self.retries = self.retries.saturating_add(1);
        self.prev = self.backoff.delay(self.retries, self.prev, &mut OsEntropy);
        TokioTime.sleep(self.prev).await;
    }
}
