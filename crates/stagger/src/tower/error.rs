//! The end of a call that failed, in the form that tower's other layers take.

use std::error::Error as StdError;
use std::fmt;

use stagger_core::Outcome;

use crate::run::{BoxError, UNKNOWN};
use crate::{Classify, Error};

/// A call through a service that failed for good.
///
/// The error of the service is boxed, as tower's own layers do, because below any of them it is boxed
/// already. It is the [`source`](StdError::source), unchanged, and can be downcast.
#[derive(Debug)]
pub struct ServiceError {
    kind: ServiceErrorKind,
}

#[derive(Debug)]
enum ServiceErrorKind {
    /// The service could not be made ready for a call: no call was begun.
    NotReady(BoxError),
    Ended(Error<BoxError>),
}

impl ServiceError {
    pub(super) fn not_ready(error: impl Into<BoxError>) -> Self {
        Self { kind: ServiceErrorKind::NotReady(error.into()) }
    }

    pub(super) fn ended<E: Into<BoxError>>(end: Error<E>) -> Self {
        Self { kind: ServiceErrorKind::Ended(end.map(Into::into)) }
    }

    /// The end of the call: stop reason, attempts, time, hint, history. `None` when the service could
    /// not be made ready for it, so that no call was begun.
    #[must_use]
    pub const fn end(&self) -> Option<&Error<BoxError>> {
        match &self.kind {
            ServiceErrorKind::NotReady(_) => None,
            ServiceErrorKind::Ended(end) => Some(end),
        }
    }

    /// The last error of the service. There is none when no attempt was made (an open breaker) or
    /// when every attempt ran out of its time.
    #[must_use]
    pub fn get_ref(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match &self.kind {
            ServiceErrorKind::NotReady(error) => Some(&**error),
            ServiceErrorKind::Ended(end) => end.get_ref().map(|error| &**error),
        }
    }

    /// The last error of the service, unchanged.
    #[must_use]
    pub fn into_inner(self) -> Option<BoxError> {
        match self.kind {
            ServiceErrorKind::NotReady(error) => Some(error),
            ServiceErrorKind::Ended(end) => end.into_inner(),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ServiceErrorKind::NotReady(_) => f.write_str("the service is not ready for calls"),
            ServiceErrorKind::Ended(end) => end.fmt_end(f).and_then(|()| end.fmt_advice(f)),
        }
    }
}

impl StdError for ServiceError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.get_ref().map(|error| error as &(dyn StdError + 'static))
    }
}

/// As the end of an inner call classifies itself; a service that is not ready will not heal.
impl Classify for ServiceError {
    fn classify(&self) -> Outcome {
        self.end().map_or(UNKNOWN, Classify::classify)
    }
}
