//! The server of all layouts: it answers until its outage, and notes when each attempt arrives.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A server that answers at once for a while, and after that never. Clones are one server.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    healthy_for: Duration,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Upstream {
    /// A server whose outage begins this long after its first attempt, by the runtime's clock.
    pub(super) fn new(healthy_for: Duration) -> Self {
        Self { healthy_for, arrivals: Arc::default() }
    }

    /// Notes an attempt, and says whether the server is healthy.
    pub(super) fn arrive(&self) -> bool {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        arrivals.push(now);
        now - arrivals[0] < self.healthy_for
    }

    /// Notes an attempt and answers it; in the outage it never does.
    pub(super) async fn answer(self) -> io::Result<()> {
        if self.arrive() { Ok(()) } else { pending().await }
    }

    /// When attempts arrived, from the first on.
    pub(super) fn arrivals(&self) -> Vec<Duration> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.iter().map(|at| *at - arrivals[0]).collect()
    }
}
