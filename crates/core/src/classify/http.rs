//! HTTP: the status table, the switches over it, and which methods may be sent twice.

use crate::error::ConfigError;
use crate::outcome::{Hint, Outcome, Remedy, Verdict};

/// One row for each range of statuses that means the same; what no row names is permanent.
///
/// 408, 429 and the 5xx up to 511 by RFC 9110 and RFC 6585; 520 to 526 are Cloudflare's (520-524 no
/// good answer from the origin, 525 and 526 its certificate); 529 is an overloaded server.
const TABLE: [(u16, u16, Verdict); 7] = [
    (100, 399, Verdict::Ok),
    (408, 408, Verdict::Transient),
    (429, 429, Verdict::Throttled),
    (500, 500, Verdict::Transient),
    (502, 504, Verdict::Transient),
    (520, 524, Verdict::Transient),
    (529, 529, Verdict::Throttled),
];

/// The most statuses that one set of rules overrides: real ones name one to three, and a
/// short list keeps the rules small enough to copy.
const MAX_OVERRIDES: usize = 8;

/// A reply as far as classification needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The server's hint, if a usable one was read.
    pub hint: Option<Hint>,
    /// Whether the request may have been sent as TLS early data; `true` when unknown.
    pub early_data: bool,
    /// Whether a hook is set that can refresh credentials.
    pub can_refresh: bool,
    /// The word of `x-should-retry`, see [`read_should_retry`].
    pub should_retry: Option<bool>,
}

impl HttpReply {
    /// A reply of this status about which nothing else is known.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self { status, hint: None, early_data: true, can_refresh: false, should_retry: None }
    }
}

/// The HTTP table with its switches.
///
/// The strongest word wins: a status set by [`with_status`](Self::with_status), then
/// `x-should-retry` when enabled, then the table. A success stays a success under the header.
///
/// ```
/// use stagger_core::Verdict;
/// use stagger_core::classify::{HttpReply, HttpRules};
/// let rules = HttpRules::default();
/// assert_eq!(rules.classify(&HttpReply::new(503)).verdict, Verdict::Transient);
/// assert_eq!(rules.classify(&HttpReply::new(409)).verdict, Verdict::Permanent);
/// let rules = rules.retry_conflict();
/// assert_eq!(rules.classify(&HttpReply::new(409)).verdict, Verdict::Transient);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpRules {
    conflict: bool,
    header: bool,
    overrides: [Option<(u16, Verdict)>; MAX_OVERRIDES],
}

impl HttpRules {
    /// Retries 409 as transient. Default: permanent, since most conflicts need the caller.
    #[must_use]
    pub const fn retry_conflict(mut self) -> Self {
        self.conflict = true;
        self
    }

    /// Lets `x-should-retry: true` or `false` decide. Default: the header is not looked at.
    #[must_use]
    pub const fn obey_should_retry(mut self) -> Self {
        self.header = true;
        self
    }

    /// Decides `status` otherwise than the table; the last word on a status counts.
    ///
    /// # Errors
    /// `status` is outside 100..=599, or more than 8 statuses are overridden.
    pub fn with_status(mut self, status: u16, verdict: Verdict) -> Result<Self, ConfigError> {
        if !(100..=599).contains(&status) {
            return Err(ConfigError::new("http.status", status, "from 100 to 599"));
        }
        let named = |slot: &&mut Option<(u16, Verdict)>| slot.is_none_or(|(at, _)| at == status);
        match self.overrides.iter_mut().find(named) {
            Some(slot) => *slot = Some((status, verdict)),
            None => {
                return Err(ConfigError::new("http.status", status, "one of at most 8 statuses"));
            }
        }
        Ok(self)
    }

    /// Returns the meaning of this reply.
    ///
    /// 421, 425 and, with a refresh hook, 401 carry a [`Remedy`] that is worth one try; their
    /// verdict is permanent, which holds once the remedy has been tried.
    #[must_use]
    pub fn classify(&self, reply: &HttpReply) -> Outcome {
        let mut outcome = self.decide(reply);
        outcome.hint = reply.hint;
        outcome.server_fault =
            outcome.verdict == Verdict::Permanent && matches!(reply.status, 500..=599);
        outcome
    }

    fn decide(&self, reply: &HttpReply) -> Outcome {
        let set = self.overrides.iter().flatten().find(|(status, _)| *status == reply.status);
        if let Some((_, verdict)) = set {
            return Outcome::new(*verdict);
        }
        let table = Outcome { remedy: remedy(reply), ..Outcome::new(self.table(reply)) };
        match reply.should_retry {
            Some(false) if self.header && table.verdict != Verdict::Ok => {
                Outcome::new(Verdict::Permanent)
            }
            Some(true) if self.header && table.verdict == Verdict::Permanent => {
                Outcome { verdict: Verdict::Transient, ..table }
            }
            _ => table,
        }
    }

    fn table(&self, reply: &HttpReply) -> Verdict {
        match reply.status {
            409 if self.conflict => Verdict::Transient,
            503 if is_usable(reply.hint) => Verdict::Throttled,
            status => TABLE
                .iter()
                .find(|(first, last, _)| (*first..=*last).contains(&status))
                .map_or(Verdict::Permanent, |(_, _, verdict)| *verdict),
        }
    }
}

const fn remedy(reply: &HttpReply) -> Option<Remedy> {
    match reply.status {
        401 if reply.can_refresh => Some(Remedy::RefreshAuth),
        421 => Some(Remedy::FreshConnection),
        425 if reply.early_data => Some(Remedy::WithoutEarlyData),
        _ => None,
    }
}

const fn is_usable(hint: Option<Hint>) -> bool {
    matches!(hint, Some(Hint::AtLeast(_) | Hint::Exactly(_)))
}

/// Reads the value of `x-should-retry`: `true` or `false` in any case, outer blanks trimmed.
///
/// Anything else says nothing.
///
/// ```
/// use stagger_core::classify::read_should_retry;
/// assert_eq!(read_should_retry(b" True"), Some(true));
/// assert_eq!(read_should_retry(b"yes"), None);
/// ```
#[must_use]
pub fn read_should_retry(value: &[u8]) -> Option<bool> {
    let value = value.trim_ascii();
    if value.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if value.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Whether a request of this method may be sent twice (RFC 9110 section 9.2.2).
///
/// Names are case-sensitive (section 9.1), and an unknown method is not idempotent.
///
/// ```
/// use stagger_core::classify::is_idempotent;
/// assert!(is_idempotent("PUT"));
/// assert!(!is_idempotent("POST") && !is_idempotent("get"));
/// ```
#[must_use]
pub fn is_idempotent(method: impl AsRef<[u8]>) -> bool {
    matches!(method.as_ref(), b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE")
}
