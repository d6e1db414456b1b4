//! A stretch of trouble in a log, and its kind.

use stagger_core::{Instant, Ratio, Span};

/// A stretch of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InferredOutage {
    /// The start, counted from the start of the log.
    pub from: Instant,
    /// The end.
    pub until: Instant,
    /// The kind of trouble.
    pub kind: OutageKind,
    /// Attempts that began in it.
    pub attempts: u32,
    /// Attempts among them that failed.
    pub failed: u32,
    /// The possible error of its edges.
    pub edge: Span,
    /// Whether it was still going on when the log ended.
    pub open: bool,
}

/// The kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageKind {
    /// Nearly all attempts failed, and heard so soon.
    Refused,
    /// Nearly all attempts failed, and most of them waited in vain.
    Hung,
    /// This share of attempts failed: some of several servers, or one of several causes.
    Failing(Ratio),
    /// Attempts were served, but took about this many times as long as usual.
    Slow(Ratio),
}
