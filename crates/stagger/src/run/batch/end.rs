//! The end of a batch: of each item, and of the whole.

use stagger_core::Span;
use stagger_core::retry::Stop;

/// A batch that has ended. Every item given in is in exactly one of the three lists, with its place
/// in the input.
///
/// ```
/// use stagger::{Policy, Retrier, Stop};
/// let server = Retrier::of(Policy::default());
/// let batch = server.batch_blocking(vec![1, 2, 30], |items: &[u32]| {
///     Ok(items.iter().map(|n| if *n < 10 { Ok(n * 2) } else { Err("too large") }).collect())
/// });
/// let batch = batch.when(|error| *error == "busy").call();
/// assert_eq!(batch.done, [(0, 2), (1, 4)]);
/// assert_eq!(batch.refused, [(2, 30, "too large")]);
/// assert!(batch.left.is_empty());
/// assert_eq!((batch.stop, batch.rounds), (Stop::Succeeded, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch<I, T, E> {
    /// Items that were done, in the order in which they were.
    pub done: Vec<(usize, T)>,
    /// Items that must not be sent again: they will not heal, or they may have been done already and
    /// must not be done twice.
    pub refused: Vec<(usize, I, E)>,
    /// Items that could have been sent again, but for the stop reason.
    pub left: Vec<(usize, I)>,
    /// Why there was no further round. [`Stop::Succeeded`] when no item is left.
    pub stop: Stop,
    /// Rounds that were made, whether they did anything or not.
    pub rounds: u32,
    /// Time from the start of the batch to its end.
    pub elapsed: Span,
    /// The server's last hint, when the batch ended on that.
    pub hint: Option<Span>,
    /// The last error of a whole round, or else of an item that is left. None when rounds ran out of
    /// their time, or none was made.
    pub error: Option<E>,
}

impl<I, T, E> Batch<I, T, E> {
    /// Whether every item was done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.left.is_empty()
    }
}
