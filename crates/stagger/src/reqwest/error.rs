//! The errors of one attempt of a request.

use std::error::Error as StdError;
use std::fmt;

/// The failure of one attempt.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// reqwest's, unchanged.
    Reqwest(::reqwest::Error),
    /// The reply has more bytes than [`CallOptions::buffered`](super::CallOptions::buffered) allows.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The body of the request cannot be sent again.
    NotReplayable,
    /// The error of another middleware, unchanged.
    Middleware(Box<dyn StdError + Send + Sync>),
}

impl SendError {
    /// reqwest's error, for its `is_timeout`, `is_connect` and so on.
    ///
    /// ```
    /// use stagger::reqwest::SendError;
    /// assert!(SendError::NotReplayable.as_reqwest().is_none());
    /// ```
    #[must_use]
    pub const fn as_reqwest(&self) -> Option<&::reqwest::Error> {
        match self {
            Self::Reqwest(error) => Some(error),
            _ => None,
        }
    }

    /// The failure as a value of `error.type`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Reqwest(error) if error.is_timeout() => "timeout",
            Self::Reqwest(error) if error.is_connect() => "connect",
            Self::Reqwest(error) if error.is_builder() => "builder",
            Self::Reqwest(error) if error.is_redirect() => "redirect",
            Self::Reqwest(error) if error.is_body() => "body",
            Self::Reqwest(_) => "request",
            Self::NotReplayable => "not_replayable",
            Self::TooLarge { .. } | Self::Middleware(_) => "_OTHER",
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reqwest(error) => error.fmt(f),
            Self::TooLarge { limit } => write!(f, "the reply has more than {limit} bytes"),
            Self::NotReplayable => f.write_str("the body of the request cannot be sent again"),
            Self::Middleware(error) => error.fmt(f),
        }
    }
}

/// The source of the error below, whose text this one has: so a chain prints each text once.
impl StdError for SendError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Reqwest(error) => error.source(),
            Self::Middleware(error) => error.source(),
            Self::TooLarge { .. } | Self::NotReplayable => None,
        }
    }
}
