//! The bounds of the PostgreSQL store.

use std::num::NonZeroUsize;

use stagger::Span;

/// Connections and times of the PostgreSQL store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Connections at most. Default: 10, of which accepting takes 3 at most and settling 1. A node that
    /// shares the database takes up to 3 more, for its membership and for hints.
    pub connections: NonZeroUsize,
    /// Calls of `accept` that may wait for a connection; more are refused immediately with
    /// [`Error::busy`](crate::Error::busy), so that no memory fills with them. Default: 4096.
    pub queue: NonZeroUsize,
    /// The longest time to make a connection, and to wait for a free one. Default: 5 s.
    pub connect_time: Span,
    /// The longest time of one statement before the server ends it; the store gives up on a server
    /// that does not answer soon after. Default: 30 s.
    pub statement_time: Span,
    /// The time for which a silent node counts as alive. The bounds of transactions and locks of a
    /// member follow from it: they end well before. At least 100 ms. Default: 10 s.
    pub lease: Span,
    /// Whether a database of an earlier release is brought to this one's version. An empty one always
    /// is. Default: no.
    pub migrate: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: const { NonZeroUsize::new(10).expect("above zero") },
            queue: const { NonZeroUsize::new(4096).expect("above zero") },
            connect_time: Span::from_secs(5),
            statement_time: Span::from_secs(30),
            lease: Span::from_secs(10),
            migrate: false,
        }
    }
}
