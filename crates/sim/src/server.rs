//! What the far side answers, and when.

use stagger_core::{Instant, Span, Verdict};

/// A server without a queue: it serves everybody at once, except during one outage.
///
/// Whether an attempt is served is decided when it arrives; a refusal (503) is instant.
///
/// ```
/// use stagger_core::{Instant, Span, Verdict};
/// use stagger_sim::Server;
/// let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
/// let server = Server::down(at(10), at(20)).serving_in(Span::from_millis(5));
/// assert_eq!(server.answer(at(9)).verdict, Verdict::Ok);
/// assert_eq!(server.answer(at(9)).at, at(14));
/// assert_eq!(server.answer(at(10)).verdict, Verdict::Transient);
/// assert_eq!(server.answer(at(20)).verdict, Verdict::Ok);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    from: Instant,
    until: Instant,
    service: Span,
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What it is.
    pub verdict: Verdict,
    /// When the client has it.
    pub at: Instant,
}

impl Server {
    /// A server that refuses from `from` (included) until `until` (excluded) and serves in no time.
    #[must_use]
    pub const fn down(from: Instant, until: Instant) -> Self {
        Self { from, until, service: Span::ZERO }
    }

    /// The same server, taking this long to serve.
    #[must_use]
    pub const fn serving_in(mut self, service: Span) -> Self {
        self.service = service;
        self
    }

    /// The answer to an attempt that arrives now.
    #[must_use]
    #[inline]
    pub fn answer(&self, now: Instant) -> Reply {
        if self.from <= now && now < self.until {
            return Reply { verdict: Verdict::Transient, at: now };
        }
        Reply { verdict: Verdict::Ok, at: now + self.service }
    }
}
