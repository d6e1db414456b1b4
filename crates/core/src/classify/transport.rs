//! Failures below the protocol, and the switches on which projects disagree.

use crate::outcome::{Cause, Outcome, Verdict};

/// The meaning of failures to reach a server; the defaults suit most callers.
///
/// ```
/// use stagger_core::Verdict;
/// use stagger_core::classify::TransportRules;
/// let rules = TransportRules::default();
/// assert_eq!(rules.connect_failed().verdict, Verdict::Unprocessed);
/// assert_eq!(rules.bad_certificate().verdict, Verdict::Permanent);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportRules {
    connect: Verdict,
    certificate: Verdict,
    name: Verdict,
}

impl Default for TransportRules {
    fn default() -> Self {
        Self {
            connect: Verdict::Unprocessed,
            certificate: Verdict::Permanent,
            name: Verdict::Permanent,
        }
    }
}

impl TransportRules {
    /// Counts a failed connect as transient, so that only idempotent calls are retried.
    ///
    /// Default: unprocessed, because a server that was never reached cannot have acted.
    #[must_use]
    pub const fn connect_is_transient(mut self) -> Self {
        self.connect = Verdict::Transient;
        self
    }

    /// Counts a failed connect as permanent: nobody listens there, and nobody is expected to.
    #[must_use]
    pub const fn connect_is_permanent(mut self) -> Self {
        self.connect = Verdict::Permanent;
        self
    }

    /// Retries bad certificates, for a balancer with one bad node behind it.
    ///
    /// Default: permanent. The handshake fails before the request is sent, so it is unprocessed.
    #[must_use]
    pub const fn retry_certificates(mut self) -> Self {
        self.certificate = Verdict::Unprocessed;
        self
    }

    /// Retries names that do not exist, for a record that is about to appear.
    ///
    /// Default: permanent. No connection was made, so it is unprocessed.
    #[must_use]
    pub const fn retry_unknown_names(mut self) -> Self {
        self.name = Verdict::Unprocessed;
        self
    }

    /// The outcome of a connection that never came to be: refused, or unreachable while connecting.
    #[must_use]
    pub const fn connect_failed(&self) -> Outcome {
        Outcome::new(self.connect).with_cause(Cause::Transport)
    }

    /// The outcome of a certificate that does not hold.
    #[must_use]
    pub const fn bad_certificate(&self) -> Outcome {
        Outcome::new(self.certificate).with_cause(Cause::Transport)
    }
    /// The outcome of a name that the resolver says does not exist.
    #[must_use]
    pub const fn unknown_name(&self) -> Outcome {
        Outcome::new(self.name).with_cause(Cause::Transport)
    }
}
