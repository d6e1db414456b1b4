//! The end of a call that failed, in a form of which tonic makes the right status.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use stagger_core::classify::Code as GrpcCode;
use stagger_core::retry::Stop;
use stagger_core::{Cause, Hint, Outcome, Verdict};
use tonic::{Code, Status};

use crate::run::UNKNOWN;
use crate::{CallReport, Classify};

/// A call that failed for good: its status, and what it took.
///
/// tonic's client turns it into a [`Status`] with the same code, message, details and metadata, whose
/// source it is. [`CallError::of`] finds it there:
///
/// ```
/// use stagger::tonic::CallError;
/// fn attempts(status: &tonic::Status) -> u32 {
///     CallError::of(status).map_or(1, |end| end.report().attempts())
/// }
/// assert_eq!(attempts(&tonic::Status::not_found("of a call that went past the layer")), 1);
/// ```
///
/// The status is the last one that the server sent, unchanged. It is UNAVAILABLE when the breaker let
/// no attempt out, DEADLINE_EXCEEDED when the last attempt ran out of its time, and what gRPC makes of
/// an error of the transport; that error is then the source of the status.
pub struct CallError {
    end: Box<CallEnd>,
}

struct CallEnd {
    status: Status,
    report: CallReport,
}

impl CallError {
    /// The end of the call behind a status that tonic's client returned, if a [`Grpc`](super::Grpc)
    /// service made it.
    #[must_use]
    pub fn of(status: &Status) -> Option<&Self> {
        status.source()?.downcast_ref()
    }

    /// The status: code, message, details and metadata.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.end.status
    }

    /// Stop reason, attempts, time, hint, history. Empty for a service that could not be made ready
    /// for a call.
    #[must_use]
    pub fn report(&self) -> &CallReport {
        &self.end.report
    }

    /// The call ended on this status of the server.
    pub(super) fn replied(status: Status, report: CallReport) -> Self {
        Self { end: Box::new(CallEnd { status, report }) }
    }

    /// The call ended without anything from the server, or after an attempt that ran out of its time;
    /// `before` is what the server said to an earlier one.
    pub(super) fn silent(before: Option<Status>, report: CallReport) -> Self {
        let late = report.history().last().is_some_and(|last| last.cause == Cause::Timeout);
        let (code, said) = match report.stop() {
            Some(Stop::BreakerOpen) => (Code::Unavailable, "the breaker is open"),
            Some(Stop::Throttled) => (Code::Unavailable, "refused by client-side throttling"),
            Some(Stop::ConcurrencyLimited) => {
                (Code::Unavailable, "the concurrency limit has no place")
            }
            Some(Stop::RateLimited) => (Code::Unavailable, "the rate limit is reached"),
            Some(Stop::Cancelled) => (Code::Cancelled, "the call was cancelled"),
            Some(Stop::DeadlineExceeded) => {
                (Code::DeadlineExceeded, "the call ran out of its time")
            }
            _ if late => (Code::DeadlineExceeded, "the last attempt ran out of its time"),
            _ => (Code::Unavailable, "no attempt was made"),
        };
        let mut status = Status::new(code, said);
        if let Some(before) = before {
            status.set_source(Arc::new(before));
        }
        Self::replied(status, report)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report();
        let code = code_of(self.status());
        match report.stop() {
            Some(stop) => {
                write!(
                    f,
                    "{code}: {stop} after {} attempts in {}",
                    report.attempts(),
                    report.elapsed()
                )
            }
            None => write!(f, "{code}: the service is not ready for calls"),
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallEnd { status, report } = &*self.end;
        f.debug_struct("CallError").field("status", status).field("report", report).finish()
    }
}

/// The status is the source, and behind it the transport's error, if that was the end.
impl StdError for CallError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.status())
    }
}

/// As the end of any inner call: the last attempt's meaning when only its attempts ran out, else
/// permanent, because what the inner call refused must not be tried by the outer one.
impl Classify for CallError {
    fn classify(&self) -> Outcome {
        let report = self.report();
        match (report.stop(), report.history().last()) {
            (Some(Stop::Cancelled), _) => Outcome::new(Verdict::Cancelled),
            (Some(Stop::AttemptsExhausted | Stop::Permanent), Some(last)) => {
                let outcome = Outcome::new(last.verdict).with_cause(last.cause);
                report.hint().map_or(outcome, |span| outcome.with_hint(Hint::AtLeast(span)))
            }
            _ => UNKNOWN,
        }
    }
}

/// A code as the engine knows it.
pub(super) fn code_of(status: &Status) -> GrpcCode {
    GrpcCode::from_wire(i64::from(i32::from(status.code())))
}
