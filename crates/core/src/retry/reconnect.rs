//! Redialling a connection that should always be up.

use super::Stop;
use crate::entropy::Entropy;
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// The state of one connection loop: when to dial again, and when to give up.
///
/// A call has an outcome; a connection has a life. A handshake proves nothing: a peer that accepts
/// and hangs up at once would reset the backoff, and the give-up clock with it, for ever. So only a
/// connection that stayed up for the stability window counts as a success. The limits of the policy
/// count from the first drop after the last such success; the connection that dropped is attempt 1.
///
/// ```
/// use stagger_core::retry::{Reconnect, Stop};
/// use stagger_core::{Backoff, Instant, Policy, Span};
/// let policy = Policy::builder()
///     .backoff(Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?)
///     .max_attempts(3)
///     .build()?;
/// let mut link = Reconnect::new(Span::from_secs(30));
/// let mut highest = || u64::MAX;
/// let mut now = Instant::ORIGIN;
/// for wait in [Ok(Span::from_secs(1)), Ok(Span::from_secs(2)), Err(Stop::AttemptsExhausted)] {
///     link.on_up(now);
///     now = now + Span::from_millis(5);
///     assert_eq!(link.on_down(&policy, now, &mut highest), wait);
/// }
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    stable_after: Span,
    /// The time at which the connection came up; `None` while it is down.
    up_since: Option<Instant>,
    /// The first drop since the last connection that lasted.
    down_since: Option<Instant>,
    retries: u32,
    prev: Span,
}

impl Reconnect {
    /// A loop before its first dial. A connection that stays up for `stable_after` has succeeded;
    /// 10 s to 60 s are usual.
    #[must_use]
    pub fn new(stable_after: impl Into<Span>) -> Self {
        let stable_after = stable_after.into();
        Self { stable_after, up_since: None, down_since: None, retries: 0, prev: Span::ZERO }
    }

    /// The connection is up. Told twice, the first time counts.
    pub fn on_up(&mut self, now: Instant) {
        self.up_since.get_or_insert(now);
    }

    /// The connection dropped, or a dial failed: the delay before the next dial.
    ///
    /// # Errors
    /// [`Stop::AttemptsExhausted`] or [`Stop::DeadlineExceeded`] when the policy's limits are
    /// reached; asked again, the answer stays until a connection lasts.
    pub fn on_down(
        &mut self,
        policy: &Policy,
        now: Instant,
        entropy: &mut impl Entropy,
    ) -> Result<Span, Stop> {
        if self.up_since.take().is_some_and(|up| now - up >= self.stable_after) {
            *self = Self::new(self.stable_after);
        }
        let elapsed = now - *self.down_since.get_or_insert(now);
        let retry = self.retries.saturating_add(1);
        if !policy.limits().attempts_left(retry) {
            return Err(Stop::AttemptsExhausted);
        }
        let delay = policy.backoff().delay(retry, self.prev, entropy);
        if !policy.limits().fits(elapsed + delay) {
            return Err(Stop::DeadlineExceeded);
        }
        (self.retries, self.prev) = (retry, delay);
        Ok(delay)
    }

    /// Dials since the last connection that lasted.
    #[must_use]
    pub const fn retries(&self) -> u32 {
        self.retries
    }
}
