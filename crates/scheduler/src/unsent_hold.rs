//! The pause of an endpoint whose authorization server gives no access token, or that has not consented to deliveries.

use stagger_core::{Entropy, Instant, Span};

/// The pauses of an endpoint to which nothing was sent, because something before the message failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldPlan {
    /// The first pause, which doubles with each further failure.
    first: Span,
    /// The longest pause.
    longest: Span,
}

/// Without an access token: the end of an outage is noticed within a minute or two.
pub(super) const NO_TOKEN: HoldPlan =
    HoldPlan { first: Span::from_secs(1), longest: Span::from_secs(60) };
/// Without consent: somebody has to change the receiver, so that asking more often than once in ten minutes finds nothing.
pub(super) const NO_CONSENT: HoldPlan =
    HoldPlan { first: Span::from_secs(10), longest: Span::from_secs(10 * 60) };

/// Doublings after which a pause is the longest.
const DOUBLINGS: u32 = 6;

/// Holds an endpoint back, for longer with each failure in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnsentHold {
    failures: u32,
    until: Option<Instant>,
}

impl UnsentHold {
    /// Nothing is launched before this.
    pub(super) fn until(&self) -> Instant {
        self.until.unwrap_or(Instant::ORIGIN)
    }

    /// Something before the message has failed. Attempts that were in flight together fail together, and count once. The
    /// pause is stretched at random by up to a half, and lasts for `asked` at least, which the server has asked for.
    pub(super) fn extend(
        &mut self,
        now: Instant,
        plan: HoldPlan,
        asked: Option<Span>,
        entropy: &mut impl Entropy,
    ) {
        if self.until.is_none_or(|until| until <= now) {
            let doubled = plan.first.as_nanos() << self.failures.min(DOUBLINGS);
            let pause = Span::from_nanos(doubled).min(plan.longest);
            let longest = pause + Span::from_nanos(pause.as_nanos() / 2);
            self.failures = self.failures.saturating_add(1);
            self.until = Some(now + entropy.draw(pause, longest));
        }
        self.until = self.until.max(asked.map(|asked| now + asked));
    }

    /// What failed has succeeded, or there is a reason to try again.
    pub(super) const fn end(&mut self) {
        *self = Self { failures: 0, until: None };
    }
}
