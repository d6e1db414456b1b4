//! The policy of a request, and the failure that ended its call, with its exit code.
//!
//! The policy is from a file, a preset or the default, with the flags on top; and the rest of it after some
//! attempts. An exit code is curl's, where it has one.

use std::error::Error as StdError;

use stagger::reqwest::SendError;
use stagger::{Cause, OsEntropy};
use stagger_core::classify::sources;
use stagger_core::{Policy, Span};

use crate::cmd::call_policy::call_policy;
use crate::command_error::CommandError;
use crate::flags::HttpFlags;
use crate::streams;

/// The policy that the flags ask for.
///
/// # Errors
/// As of [`call_policy`].
pub(super) fn policy(flags: &HttpFlags) -> Result<Policy, CommandError> {
    let policy = call_policy(&flags.policy, false, |mut limits| {
        if let Some(limit) = flags.attempt_timeout {
            limits = limits.attempt_timeout(limit);
        }
        if let Some(limit) = flags.max_time {
            limits = limits.deadline(limit);
        }
        match flags.min_attempt_time {
            Some(least) => limits.min_attempt_time(least),
            None => limits,
        }
    });
    // The deadline of a request has the name that curl gives it.
    policy.map_err(|error| match error {
        CommandError::Flag(kind, text) => {
            CommandError::Flag(kind, text.replace("--deadline", "--max-time"))
        }
        other => other,
    })
}

/// Attempts that were made, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttemptsMade {
    pub(super) attempts: u32,
    pub(super) elapsed: Span,
}

impl AttemptsMade {
    /// The policy for what is left; none when attempts or time are used up.
    pub(super) fn left_of(self, policy: &Policy) -> Option<Policy> {
        let limits = policy.limits();
        let mut builder = policy.to_builder();
        if let Some(most) = limits.max_attempts() {
            builder =
                builder.max_attempts(most.checked_sub(self.attempts).filter(|left| *left > 0)?);
        }
        if let Some(deadline) = limits.deadline() {
            builder = builder.deadline(deadline - self.elapsed);
        }
        // A deadline that leaves no time for an attempt is refused.
        builder.build().ok()
    }

    /// The delay before the next attempt.
    pub(super) fn delay(self, policy: &Policy) -> Span {
        let rule = policy.backoff();
        rule.delay(self.attempts.max(1), rule.base(), &mut OsEntropy)
    }
}

/// Why the request did not end well.
#[derive(Debug)]
pub(super) enum HttpFailure {
    /// The name of the host is not known: 6.
    Name(String),
    /// No connection came to be: 7.
    Connect(String),
    /// The reply broke off: 18.
    BrokenOff(String),
    /// The server says 400 or more, which was told already: 22.
    Status,
    /// The body could not be written: 23.
    Unwritten(String),
    /// Time ran out: 28.
    Time(String),
    /// Anything else in the transport: 56.
    Transport(String),
    /// The body cannot be decompressed: 61.
    Coding(String),
}

impl HttpFailure {
    /// Of a call that ended without a reply: by its last error, if there was one.
    pub(super) fn of(error: &stagger::Error<SendError>) -> Self {
        let timed_out = || error.history().last().is_some_and(|last| last.cause == Cause::Timeout);
        let why = format!("no reply: {error}");
        let Some(last) = error.get_ref().filter(|_| !timed_out()) else { return Self::Time(why) };
        let why = format!("no reply: {}", words(last));
        match last.as_reqwest() {
            Some(error) if error.is_timeout() => Self::Time(why),
            Some(error) if error.is_dns() => Self::Name(why),
            Some(error) if error.is_connect() => Self::Connect(why),
            _ => Self::Transport(why),
        }
    }

    /// The failure of a body after its headers: its name in events, and the error.
    pub(super) fn of_body(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::BrokenOff(why) => Some(("incomplete_body", why)),
            Self::Unwritten(why) => Some(("unwritten_body", why)),
            Self::Coding(why) => Some(("undecoded_body", why)),
            _ => None,
        }
    }

    /// Says what is not said yet, unless it is `silent`; the code of the process.
    pub(super) fn code(&self, silent: bool) -> u8 {
        let (code, why) = match self {
            Self::Name(why) => (6, Some(why)),
            Self::Connect(why) => (7, Some(why)),
            Self::BrokenOff(why) => (18, Some(why)),
            Self::Status => (22, None),
            Self::Unwritten(why) => (23, Some(why)),
            Self::Time(why) => (28, Some(why)),
            Self::Transport(why) => (56, Some(why)),
            Self::Coding(why) => (61, Some(why)),
        };
        if let Some(why) = why.filter(|_| !silent) {
            streams::note(&format!("error: {why}"));
        }
        code
    }
}

/// An attempt's error in a few words: what is at the bottom of it, because reqwest's own words are
/// that a request failed, and its URL.
pub(super) fn words(error: &SendError) -> String {
    let deepest = deepest(error);
    match error.as_reqwest() {
        Some(error) if error.is_timeout() => "no reply in time".to_owned(),
        Some(error) if error.is_dns() => format!("name not resolved: {deepest}"),
        Some(error) if error.is_connect() => format!("no connection: {deepest}"),
        _ => deepest,
    }
}

/// The innermost cause of an error, without the number that the system has for it.
pub(super) fn deepest(error: &(dyn StdError + 'static)) -> String {
    let text = sources(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    text.split(" (os error ").next().map_or_else(String::new, str::to_owned)
}
