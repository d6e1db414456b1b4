//! Error types that classify themselves.

use std::io;

use stagger_core::classify::{TransportRules, classify_error};
use stagger_core::{Cause, Outcome, Verdict};

/// An error that knows whether trying again makes sense.
///
/// Implement it for an error type of your own and its calls need no
/// [`retry_if`](crate::Retrier::retry_if).
///
/// ```
/// use stagger::{Classify, Outcome, Verdict};
/// enum LockError { Busy, Gone }
/// impl Classify for LockError {
///     fn classify(&self) -> Outcome {
///         Outcome::new(match self {
///             LockError::Busy => Verdict::Transient,
///             LockError::Gone => Verdict::Permanent,
///         })
///     }
/// }
/// assert_eq!(LockError::Busy.classify().verdict, Verdict::Transient);
/// # let _ = LockError::Gone;
/// ```
///
/// A call whose errors nothing classifies does not compile:
///
/// ```compile_fail,E0277
/// use stagger::{Policy, Retrier, StdTime};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let answer = retrier.run_blocking(|| Err::<(), _>("busy"));
/// ```
#[diagnostic::on_unimplemented(
    message = "nothing says which `{Self}` are worth another attempt",
    note = "say it for this call: `.retry_if(|error| ..)` or `.classify(|error| ..)`",
    note = "or for the type: `impl stagger::Classify for {Self}`"
)]
pub trait Classify {
    /// Classifies the attempt that ended with this error.
    fn classify(&self) -> Outcome;
}

impl Classify for io::Error {
    /// By the kind of the first I/O error in the chain that tells; an error that tells nothing is
    /// permanent.
    fn classify(&self) -> Outcome {
        classify_error(self, &TransportRules::default()).unwrap_or(UNKNOWN)
    }
}

/// An attempt that ran out of its time.
pub(crate) const TIMED_OUT: Outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);

/// Never retried, and no proof that the server lives.
pub(crate) const UNKNOWN: Outcome = Outcome::new(Verdict::Permanent).with_cause(Cause::Transport);
