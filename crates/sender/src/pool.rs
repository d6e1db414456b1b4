//! Connections that wait for the next attempt.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use stagger::{Clock, Instant, Sleep, Span, TokioTime};

use super::connection::Connection;

/// Idle connections of one origin: twice the default number of an endpoint's attempts in flight.
const MAX_PER_ORIGIN: usize = 32;
/// Idle connections in all: half of a process's usual limit is left to the rest.
const MAX_IDLE: usize = 512;
/// The longest time that a connection stays idle: shorter than the idle time of most servers, so
/// that few are found closed.
const IDLE_TIME: Span = Span::from_secs(20);
/// The longest time that a connection is used, so that a changed DNS record takes effect within
/// minutes.
const MAX_AGE: Span = Span::from_secs(5 * 60);

/// Connections that wait for the next attempt, by origin: scheme, host and port.
///
/// Each connection is to an address that the guard allowed when it was dialled; the name is not
/// resolved again for it. A changed DNS record takes effect when the connection is too old, or
/// closed.
#[derive(Default)]
pub(super) struct ConnectionPool {
    idle_connections: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// Within one origin the connections that are idle for the longest time come first.
    by_origin: BTreeMap<Arc<str>, Vec<Idle>>,
    idle: usize,
    is_swept: bool,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl ConnectionPool {
    /// A connection that can take a request now, the one that was used last.
    pub(super) async fn take(&self, origin: &str) -> Option<Connection> {
        loop {
            let mut connection = self.with(|idle_connections| idle_connections.pop(origin))?;
            if is_fresh(&connection, TokioTime.now()) && connection.is_ready().await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose reply has been read to its end.
    pub(super) async fn put(self: &Arc<Self>, origin: &Arc<str>, mut connection: Connection) {
        let now = TokioTime.now();
        if !is_fresh(&connection, now) || !connection.is_ready().await {
            return;
        }
        let (left, sweep) = self.with(|idle_connections| {
            let left = idle_connections.push(origin, Idle { connection, since: now });
            let sweep = !idle_connections.is_swept && idle_connections.idle > 0;
            idle_connections.is_swept |= sweep;
            (left, sweep)
        });
        drop(left);
        if sweep {
            tokio::spawn(sweep_on(Arc::downgrade(self)));
        }
    }

    /// Closes connections that were idle for too long; false when none is left.
    fn sweep(&self, now: Instant) -> bool {
        let (stale, some) = self.with(|idle_connections| {
            let stale = idle_connections.take_stale(now);
            idle_connections.is_swept = idle_connections.idle > 0;
            (stale, idle_connections.is_swept)
        });
        drop(stale);
        some
    }

    /// Connections are closed outside the lock. A panic elsewhere has not broken the map.
    fn with<T>(&self, work: impl FnOnce(&mut IdleConnections) -> T) -> T {
        work(&mut self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.with(|idle_connections| idle_connections.idle);
        f.debug_struct("Pool").field("idle", &idle).finish()
    }
}

impl IdleConnections {
    fn pop(&mut self, origin: &str) -> Option<Connection> {
        let idle = self.by_origin.get_mut(origin)?.pop()?;
        self.idle -= 1;
        Some(idle.connection)
    }

    /// Answers with a connection that there is no room for.
    fn push(&mut self, origin: &Arc<str>, idle: Idle) -> Option<Idle> {
        if self.idle >= MAX_IDLE {
            return Some(idle);
        }
        if !self.by_origin.contains_key(origin) {
            self.by_origin.insert(Arc::clone(origin), Vec::new());
        }
        let links = self.by_origin.get_mut(origin)?;
        if links.len() >= MAX_PER_ORIGIN {
            return Some(idle);
        }
        links.push(idle);
        self.idle += 1;
        None
    }

    fn take_stale(&mut self, now: Instant) -> Vec<Idle> {
        let mut stale = Vec::new();
        self.by_origin.retain(|_, links| {
            let old = links.partition_point(|idle| now.since(idle.since) >= IDLE_TIME);
            stale.extend(links.drain(..old));
            !links.is_empty()
        });
        self.idle -= stale.len();
        stale
    }
}

/// Ends when nothing waits any more, or the pool is gone.
async fn sweep_on(pool: Weak<ConnectionPool>) {
    loop {
        TokioTime.sleep(Span::from_nanos(IDLE_TIME.as_nanos() / 2)).await;
        match pool.upgrade() {
            Some(pool) if pool.sweep(TokioTime.now()) => {}
            _ => return,
        }
    }
}

fn is_fresh(connection: &Connection, now: Instant) -> bool {
    now.since(connection.born) < MAX_AGE
}
