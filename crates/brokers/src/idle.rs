//! Connections that wait for the next attempt to one broker.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use stagger::{Clock, Instant, Sleep, Span, TokioTime};

/// Idle connections to one broker: the default number of an endpoint's attempts in flight.
const MAX_IDLE: usize = 16;
/// The longest time that a connection stays idle: shorter than the two minutes after which brokers ask whether it lives.
const IDLE_TIME: Span = Span::from_secs(20);

/// Connections of one endpoint, the one that was used last at the end. They are closed once they have been idle for too
/// long, and when the endpoint's settings change.
#[derive(Debug)]
pub(crate) struct IdleConnections<C> {
    idle: Arc<Mutex<Idle<C>>>,
}

#[derive(Debug)]
struct Idle<C> {
    connections: Vec<(C, Instant)>,
    is_swept: bool,
}

impl<C> Default for IdleConnections<C> {
    fn default() -> Self {
        let idle = Idle { connections: Vec::new(), is_swept: false };
        Self { idle: Arc::new(Mutex::new(idle)) }
    }
}

impl<C: Send + 'static> IdleConnections<C> {
    /// The connection that was used last.
    pub(crate) fn take(&self) -> Option<C> {
        lock(&self.idle).connections.pop().map(|(connection, _)| connection)
    }

    /// Keeps a connection, unless there are enough.
    pub(crate) fn put(&self, connection: C) {
        let mut idle = lock(&self.idle);
        if idle.connections.len() < MAX_IDLE {
            idle.connections.push((connection, TokioTime.now()));
        }
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(&self.idle)));
        }
    }
}

/// Ends when nothing is idle any more, or the endpoint is gone.
async fn sweep<C>(idle: Weak<Mutex<Idle<C>>>) {
    loop {
        TokioTime.sleep(IDLE_TIME).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = lock(&idle);
        let now = TokioTime.now();
        idle.connections.retain(|(_, since)| now.since(*since) < IDLE_TIME);
        if idle.connections.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
