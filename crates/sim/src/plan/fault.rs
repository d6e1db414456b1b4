//! Troubles of the backend and their times.

use stagger_core::{Instant, Ratio, Span};

/// One trouble in one half-open stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The start, included.
    pub from: Instant,
    /// The end, excluded; [`Instant::FAR`] for never.
    pub until: Instant,
    /// The one shard that has it; all of them when `None`.
    pub shard: Option<u32>,
    /// The kind of trouble.
    pub trouble: Trouble,
}

/// The kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An attempt that arrives is answered 503 at once; work already started is finished.
    Refuse,
    /// The same with a Retry-After of this span, a hint that callers are not to come back before;
    /// to them that is a throttle, not a failure.
    RefuseFor(Span),
    /// The port refuses connections, as that of a crashed server: at once, and callers know that nothing
    /// was processed. Work already started is finished.
    PortClosed,
    /// An attempt that arrives is accepted, and fails when the trouble is over.
    Hang,
    /// An attempt that arrives is never answered: a caller without a timeout waits for ever, and its
    /// call counts as one that failed.
    Silence,
    /// Attempts are accepted and none is started; work already started is finished.
    Stall,
    /// Each attempt whose work ends now fails with this probability, with a 503.
    Failing(Ratio),
    /// Work that starts takes this many times as long.
    Slow(Ratio),
}

impl Fault {
    /// This trouble for all shards, from `from` (included) until `until` (excluded).
    #[must_use]
    pub const fn new(trouble: Trouble, from: Instant, until: Instant) -> Self {
        Self { from, until, shard: None, trouble }
    }

    /// The same trouble in one shard.
    #[must_use]
    pub const fn in_shard(mut self, shard: u32) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Whether `shard` has it at `now`.
    #[must_use]
    #[inline]
    pub fn holds(&self, shard: u32, now: Instant) -> bool {
        self.from <= now && now < self.until && self.shard.is_none_or(|own| own == shard)
    }
}
