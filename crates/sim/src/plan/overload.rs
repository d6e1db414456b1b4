//! The reactions of a server to more work than it can do: it sheds, crashes, or gets more workers.

use stagger_core::{Ratio, Span};

/// The rule by which a server refuses attempts before its queue is full.
///
/// What is shed is answered as [`Workers::full`](super::Workers::full) says, at the cost of
/// [`Workers::refusal`](super::Workers::refusal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shedding {
    /// Nothing is shed.
    #[default]
    None,
    /// Controlled delay (RFC 8289): once attempts have waited longer than `target` for an `interval`, one
    /// is shed at its turn, and the next ones in ever shorter steps, `interval / sqrt(n)`.
    CoDel {
        /// The time that an attempt may wait.
        target: Span,
        /// The time for which it may be longer.
        interval: Span,
    },
    /// Controlled delay for servers (Maurer, "Fail at Scale", ACM Queue 13(8), 2015): an attempt that comes
    /// while the queue has not been empty for an `interval` may wait for `target`, any other one for an
    /// `interval`.
    FailFast {
        /// The time that an attempt may wait in a standing queue.
        target: Span,
        /// The time after which a queue stands.
        interval: Span,
    },
    /// A limit of the attempts in the server, waiting or worked on, which grows by one while attempts are
    /// over within `latency`, and shrinks by a factor when one is not (additive increase, multiplicative
    /// decrease). It begins at the number of workers.
    Aimd {
        /// The time in the server that is good enough.
        latency: Span,
        /// The factor by which the limit shrinks, below 1.
        decrease: Ratio,
    },
    /// A limit of the attempts in the server by the gradient of their latency, as Envoy's adaptive
    /// concurrency: `limit * (1 + buffer) * shortest / latency + sqrt(limit)`, where `latency` is the mean of
    /// the last stretch and `shortest` the shortest mean so far. It begins at the number of workers.
    Gradient {
        /// The share by which latency may exceed the shortest one.
        buffer: Ratio,
        /// The stretch after which the limit is set anew.
        every: Span,
    },
}

/// A server that falls over under its load: all that it holds is lost, and its port is closed until it has
/// restarted, with cold caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The attempts in the server, waiting or worked on, at which it falls over. At least 1.
    pub at: u32,
    /// The time until its port is open again.
    pub restart: Span,
}

/// Workers that are added while they are needed, and taken away again.
///
/// The load is looked at when an attempt comes or ends, at most once every [`every`](Self::every).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autoscaling {
    /// The most workers.
    pub most: u32,
    /// Workers that are ordered or taken away at once. At least 1.
    pub step: u32,
    /// The time between two looks at the load. Above zero.
    pub every: Span,
    /// The time from an order until its workers are there.
    pub delay: Span,
    /// The share of busy workers above which more are ordered.
    pub above: Ratio,
    /// The share of busy workers below which some are taken away, down to
    /// [`Workers::count`](super::Workers::count).
    pub below: Ratio,
}

impl Shedding {
    /// Whether the rule is a limit that learns from the latency of attempts.
    pub(crate) const fn limits(&self) -> bool {
        matches!(self, Self::Aimd { .. } | Self::Gradient { .. })
    }
}
