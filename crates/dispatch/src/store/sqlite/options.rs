//! The settings of the embedded store.

use std::num::NonZeroUsize;

use stagger::Span;

/// The bounds of the embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Writes that may wait for the writer; more are refused immediately with
    /// [`Error::busy`](crate::Error::busy), so that no memory fills with them. Default: 4096.
    pub queue: NonZeroUsize,
    /// Bytes of payloads that may wait for the writer, checked likewise. Default: 64 MiB.
    pub queue_bytes: usize,
    /// Connections that only read: default 4.
    pub readers: NonZeroUsize,
    /// The longest time that a write waits for a lock that another process holds on the file, such
    /// as an operator's shell: default 1 s.
    pub lock_wait: Span,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let queue = const { NonZeroUsize::new(4096).expect("above zero") };
        let readers = const { NonZeroUsize::new(4).expect("above zero") };
        Self { queue, queue_bytes: 64 << 20, readers, lock_wait: Span::from_secs(1) }
    }
}
