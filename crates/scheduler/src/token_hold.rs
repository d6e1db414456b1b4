//! The pause of an endpoint whose authorization server gives no access token.

use stagger_core::{Entropy, Instant, Span};

/// The first pause, which doubles with each further failure.
const FIRST: Span = Span::from_secs(1);
/// The longest pause: the end of an outage is noticed within a minute or two.
const LONGEST: Span = Span::from_secs(60);
/// Doublings after which it is the longest.
const DOUBLINGS: u32 = 6;

/// Holds an endpoint back, for longer with each failed fetch of a token.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenHold {
    failures: u32,
    until: Option<Instant>,
}

impl TokenHold {
    /// Nothing is launched before this.
    pub(super) fn until(&self) -> Instant {
        self.until.unwrap_or(Instant::ORIGIN)
    }

    /// A fetch has failed. Attempts that were in flight together fail together, and count once. The pause is stretched at
    /// random by up to a half, and lasts for `asked` at least, which the server has asked for.
    pub(super) fn extend(&mut self, now: Instant, asked: Option<Span>, entropy: &mut impl Entropy) {
        if self.until.is_none_or(|until| until <= now) {
            let doubled = FIRST.as_nanos() << self.failures.min(DOUBLINGS);
            let pause = Span::from_nanos(doubled).min(LONGEST);
            let longest = pause + Span::from_nanos(pause.as_nanos() / 2);
            self.failures = self.failures.saturating_add(1);
            self.until = Some(now + entropy.draw(pause, longest));
        }
        self.until = self.until.max(asked.map(|asked| now + asked));
    }

    /// A token was fetched, or there is a reason to try again.
    pub(super) const fn end(&mut self) {
        *self = Self { failures: 0, until: None };
    }
}
