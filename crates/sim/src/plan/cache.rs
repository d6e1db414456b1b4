//! A cache whose misses are work: a server whose capacity depends on what it has served.

use stagger_core::Span;

/// A cache before the slow part of the work, per shard; full at first.
///
/// All keys are asked for equally often, so the share of hits is the share of keys that the cache holds.
/// A miss that is answered puts its key in. Two misses of one key at the same time count as two.
///
/// The cache is emptied by [`Trouble::Flush`](super::Trouble::Flush), when
/// [`Trouble::PortClosed`](super::Trouble::PortClosed) ends, and by a [`Crash`](super::Crash).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The keys that callers ask for. At least 1.
    pub keys: u32,
    /// The time that a miss takes in addition.
    pub miss: Span,
    /// The time after which an entry expires, in the mean; never when `None`.
    pub lifetime: Option<Span>,
    /// The misses that fill it.
    pub fill: CacheFill,
}

/// The misses that fill a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheFill {
    /// Those whose callers still wait for the answer: callers fill it, and one that gave up does not.
    #[default]
    Answered,
    /// All that are worked on: the server fills it.
    Worked,
}
