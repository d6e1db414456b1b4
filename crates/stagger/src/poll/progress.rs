//! What one look at something unfinished shows.

use stagger_core::Span;

/// What one attempt of a poll saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
