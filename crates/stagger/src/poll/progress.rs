//! The result of one look at something unfinished.

use stagger_core::Span;

/// The result of one attempt of a poll.
///
/// The hint is what the server said on a reply that is no failure:
///
/// ```
/// use stagger::hint::HintReader;
/// use stagger::{Hint, Progress, Span};
/// fn look(status: u16, headers: &[(&str, &[u8])]) -> Progress<u16> {
///     match status {
///         202 => {
///             let hint = HintReader::new().read(headers.iter().copied(), None);
///             Progress::NotYet { hint: hint.and_then(Hint::span) }
///         }
///         done => Progress::Ready(done),
///     }
/// }
/// let hint = Some(Span::from_secs(5));
/// assert_eq!(look(202, &[("retry-after", b"5")]), Progress::NotYet { hint });
/// assert_eq!(look(202, &[]), Progress::NOT_YET);
/// assert_eq!(look(200, &[]), Progress::Ready(200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<T> {
    /// It is ready.
    Ready(T),
    /// It is not, and the server may have said how long to stay away (`Retry-After` on 202, say):
    /// never is it asked sooner.
    NotYet {
        /// The hint, if the server gave one.
        hint: Option<Span>,
    },
}

impl<T> Progress<T> {
    /// Not ready, and no hint.
    pub const NOT_YET: Self = Self::NotYet { hint: None };
}
