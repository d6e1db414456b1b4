//! The backend, when nothing is wrong with it, and the way to it.

use stagger_core::{Ratio, Span};

/// A backend of one or more equal shards; by default one that serves every attempt immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The time that the work on one attempt takes.
    pub service: Service,
    /// The workers; no limit when `None`.
    pub workers: Option<Workers>,
    /// The rate limit; attempts above it are answered 429 with a Retry-After.
    pub limit: Option<ServerRateLimit>,
    /// Slower work right after the backend has come up.
    pub cold_start: Option<ColdStart>,
    /// Shards; an attempt goes to the shard of its call. From 1 to [`Backend::MAX_SHARDS`],
    /// and numbers beyond are read as the nearest of these.
    pub shards: u32,
}

/// The time that the work on one attempt takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed around this mean.
    Exponential(Span),
    /// `usual`, and `slow` for this share of attempts: the tail that hedging is for.
    Tail {
        /// Nearly always.
        usual: Span,
        /// Now and then.
        slow: Span,
        /// The share of slow attempts.
        share: Ratio,
    },
}

/// A bounded number of workers with a queue before them, per shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Attempts that are worked on at once. At least 1.
    pub count: u32,
    /// Attempts that may wait; without bound when `None`.
    pub queue: Option<u32>,
    /// The answer to an attempt that finds the queue full.
    pub full: Full,
    /// The order in which waiting attempts are served.
    pub order: QueueDiscipline,
    /// The treatment of attempts whose callers no longer wait.
    pub cancel: Cancel,
    /// Extra time for each unit of work, as a share of it for each attempt that waits: overload
    /// collapse. Zero for none.
    pub collapse: Ratio,
}

/// The answer to an attempt that finds the queue full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// A 503 at once.
    #[default]
    Refuse,
    /// Silence.
    Drop,
}

/// The order in which waiting attempts are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueDiscipline {
    /// The attempt that has waited longest (FIFO).
    #[default]
    OldestFirst,
    /// The attempt that came last (LIFO).
    NewestFirst,
}

/// The treatment of attempts whose callers no longer wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cancel {
    /// They are worked on like any other: the server does not know.
    #[default]
    Never,
    /// They are dropped when their turn comes.
    Expired,
    /// They are dropped when their turn comes, and so is what cannot be finished in time.
    Hopeless,
}

/// A rate limit, per shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRateLimit {
    /// So many in each window, all windows of one length from the origin on; Retry-After is the
    /// rest of the window.
    Window {
        /// Attempts in a window. At least 1.
        attempts: u32,
        /// The length of a window. Above zero.
        window: Span,
    },
    /// A bucket that refills evenly; Retry-After is the time until the next token.
    Tokens {
        /// The most tokens there are, which is also how many there are at first. At least 1.
        burst: u32,
        /// The time that one token takes. Above zero.
        every: Span,
    },
}

/// A backend with cold caches: work that starts takes longer at first, and evenly less so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdStart {
    /// The factor by which work takes longer at the very beginning. At least 1.
    pub factor: Ratio,
    /// The time until work takes as long as usual, from the origin and from the end of every outage.
    pub over: Span,
}

impl Backend {
    /// The most shards: more than any fleet tells apart, and few enough to be kept one by one.
    pub const MAX_SHARDS: u32 = 1 << 16;

    /// Serves every attempt immediately, in no time.
    pub const UNLIMITED: Self = Self {
        service: Service::Fixed(Span::ZERO),
        workers: None,
        limit: None,
        cold_start: None,
        shards: 1,
    };

    /// So many workers that take `service` for an attempt, behind a queue.
    #[must_use]
    pub const fn of_workers(count: u32, service: Span, queue: Option<u32>) -> Self {
        Self {
            service: Service::Fixed(service),
            workers: Some(Workers::new(count, queue)),
            ..Self::UNLIMITED
        }
    }

    /// The shards within their bounds.
    pub(crate) const fn shard_count(&self) -> u32 {
        match self.shards {
            0 => 1,
            shards if shards > Self::MAX_SHARDS => Self::MAX_SHARDS,
            shards => shards,
        }
    }

    /// The same backend, taking this long for an attempt.
    #[must_use]
    pub const fn serving_in(mut self, service: Span) -> Self {
        self.service = Service::Fixed(service);
        self
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

impl Workers {
    /// Oldest first, a full queue refuses, and nothing is ever cancelled.
    #[must_use]
    pub const fn new(count: u32, queue: Option<u32>) -> Self {
        Self {
            count,
            queue,
            full: Full::Refuse,
            order: QueueDiscipline::OldestFirst,
            cancel: Cancel::Never,
            collapse: Ratio::ZERO,
        }
    }
}

impl Service {
    /// The time on average.
    #[must_use]
    pub fn mean(&self) -> Span {
        match *self {
            Self::Fixed(time) | Self::Exponential(time) => time,
            Self::Tail { usual, slow, share } => usual + share.of_span(slow - usual),
        }
    }
}

/// The time that an attempt or an answer is under way, one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hop {
    /// No time at all.
    #[default]
    None,
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed around this mean.
    Exponential(Span),
}
