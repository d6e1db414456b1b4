//! The network, the backend, and the troubles of both.

use stagger_core::{Instant, Ratio, Span};

use super::{Autoscaling, Balancer, Cache, Crash, Shedding};

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
    /// The balancer that chooses a shard for every attempt: they are equal servers of one tier then.
    pub balancer: Option<Balancer>,
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
    /// Lognormally distributed around this mean: the shape of most latencies that are measured.
    Lognormal {
        /// The mean.
        mean: Span,
        /// The standard deviation of the logarithm, above zero: 1 is a p99 of 6.2 means.
        sigma: Ratio,
    },
    /// Pareto-distributed around this mean: a heavy tail.
    Pareto {
        /// The mean.
        mean: Span,
        /// The exponent of the tail, above 1. Up to 2 the variance has no bound.
        shape: Ratio,
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
    /// The time that a worker takes to refuse an attempt that finds the queue full. Refusals go before
    /// what waits, and the answer comes at their end; with zero it comes immediately and costs nothing.
    ///
    /// Refusals that take all of the workers' time leave none for work: receive livelock (Mogul and
    /// Ramakrishnan, ACM TOCS 15(3), 1997).
    pub refusal: Span,
    /// What is refused before the queue is full.
    pub shedding: Shedding,
    /// The load under which it falls over; none when `None`.
    pub crash: Option<Crash>,
    /// Workers that come and go with the load.
    pub scaling: Option<Autoscaling>,
    /// A cache whose misses are further work.
    pub cache: Option<Cache>,
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
    /// First attempts before retries, and of each the one that has waited longest.
    FirstTriesFirst,
    /// By the [criticality](super::Criticality) of the call, and of each the one that has waited longest. An
    /// attempt that finds the queue full takes the place of the last one of the lowest criticality below
    /// its own.
    ByCriticality,
    /// The attempt that has waited longest while the queue was empty within the last 100 ms, and the one
    /// that came last otherwise (adaptive LIFO; Maurer, "Fail at Scale", ACM Queue 13(8), 2015).
    Adaptive,
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
        balancer: None,
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
            refusal: Span::ZERO,
            shedding: Shedding::None,
            crash: None,
            scaling: None,
            cache: None,
        }
    }
}

impl Service {
    /// The time on average.
    #[must_use]
    pub fn mean(&self) -> Span {
        match *self {
            Self::Fixed(mean)
            | Self::Exponential(mean)
            | Self::Lognormal { mean, .. }
            | Self::Pareto { mean, .. } => mean,
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
    /// Each attempt that arrives is answered 403 at once with this probability. Callers do not retry it:
    /// an operator who sheds load before the backend.
    Forbid(Ratio),
    /// Each attempt whose work ends now fails with this probability, with a 503.
    Failing(Ratio),
    /// Work that starts takes this many times as long.
    Slow(Ratio),
    /// At the start of the trouble this share of every cache is lost, whenever it ends.
    Flush(Ratio),
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
