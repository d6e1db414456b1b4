use stagger::{ConfigError, Policy, Span};

/// Chosen by `stagger choose`.
///
/// Answers: callers = 3
///
/// Not said, so taken as usual: retryable = yes, idempotent = no, background =
/// no, slo = none, p99 = unknown
///
/// To have retries, send an Idempotency-Key that the server remembers (one for
/// each call, the same on all attempts), and answer `key`. Look first, then
/// send again, is another way. (With more attempts, calls that are not started
/// as idempotent are repeated only where the server cannot have acted on them.)
///
/// # Errors
/// None: the settings are constants.
pub fn policy() -> Result<Policy, ConfigError> {
    Policy::builder()
        // limits.max_attempts: not idempotent: after a timeout nobody knows
        // whether it was carried out, so it is sent once
        .max_attempts(1)
        // limits.deadline: as long as the attempt; an SLO would say better
        .deadline(Span::from_secs(5))
        // limits.attempt_timeout: without it a call that hangs takes the whole
        // deadline; set it to a few times the usual p99
        .attempt_timeout(Span::from_secs(5))
        .build()
}
