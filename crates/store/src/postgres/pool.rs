//! Connections, and how long they may take.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Object, Pool as Inner, PoolError,
    RecyclingMethod, Runtime,
};
use stagger::{Sleep, Span, TokioTime};
use tokio_postgres::{Config, NoTls};

use super::address;
use super::address::{PostgresAddress, PostgresOptions};
use super::cluster::ListenerConfig;
use super::statement::{DbError, words};
use crate::Error;

/// The additional time of an operation of several statements before the server counts as gone: a
/// live server ends its statements itself.
const MARGIN: Span = Span::from_secs(10);
/// The longest wait for a lock of another session.
const LOCK_WAIT: Span = Span::from_secs(10);
/// The TCP keepalive: the idle time of a connection before the first probe, the interval of probes,
/// and the longest time that sent bytes may stay unacknowledged. A vanished server is noticed
/// within seconds.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const UNACKNOWLEDGED: Duration = Duration::from_secs(15);

/// Connections for membership: one for heartbeats, and one for concurrent calls.
const FOR_MEMBERSHIP: usize = 2;
/// The shortest lease that everything below is a part of, in whole milliseconds.
const SHORTEST_LEASE: Span = Span::from_millis(100);

/// The connections to the database, made when they are needed.
#[derive(Debug)]
pub(super) struct PostgresPool {
    inner: Inner,
    limit: Span,
}

/// The number of connections, and the time limits on them.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    connections: usize,
    connect: Span,
    statement: Span,
    lock: Span,
    /// A session that is silent for this long within a transaction is ended by the server: its node
    /// is cut off, and its locks keep others waiting.
    idle: Span,
    /// The longest time of all statements of one transaction.
    whole: Span,
}

impl PostgresPool {
    /// A pool that has made no connection yet.
    pub(super) fn new(address: &PostgresAddress, options: &PostgresOptions) -> Result<Self, Error> {
        let lease = options.lease;
        let whole = options.statement_time + MARGIN;
        Self::with(
            address,
            Bounds {
                connections: options.connections.get(),
                connect: options.connect_time,
                statement: options.statement_time,
                // Both together are over before others count its node as dead.
                lock: LOCK_WAIT.min(part(lease, 2)),
                idle: whole.min(part(lease, 4)),
                whole,
            },
        )
    }

    /// A pool for membership calls: none waits for long, because the next heartbeat repeats it, and
    /// none waits for other work of the node.
    pub(super) fn for_membership(
        address: &PostgresAddress,
        options: &PostgresOptions,
    ) -> Result<Self, Error> {
        let lease = options.lease;
        let (short, shortest) = (part(lease, 4), part(lease, 10));
        Self::with(
            address,
            Bounds {
                connections: FOR_MEMBERSHIP,
                connect: short.min(options.connect_time),
                statement: shortest,
                lock: shortest,
                idle: short,
                whole: short,
            },
        )
    }

    fn with(address: &PostgresAddress, bounds: Bounds) -> Result<Self, Error> {
        let config = wire(address, bounds.connect, bounds.whole);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = if address.tls {
            let tls = address::tls_connector(address.roots.as_deref())?;
            Manager::from_config(config, tls, recycling)
        } else {
            Manager::from_config(config, NoTls, recycling)
        };
        let inner = Inner::builder(manager)
            .max_size(bounds.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(bounds.connect.into()))
            .create_timeout(Some(bounds.connect.into()))
            .post_create(prepare_session(bounds))
            .build()
            .map_err(|error| Error::store(error.to_string()))?;
        Ok(Self { inner, limit: bounds.whole })
    }

    /// Lends a connection.
    pub(super) async fn lend(&self) -> Result<PooledClient, Error> {
        let client = self.inner.get().await.map_err(|error| unavailable(&error))?;
        Ok(PooledClient { client: Some(client) })
    }

    /// The result of `work`, unless it takes so long that the server must be gone. The connection
    /// that it uses is closed when this answers.
    pub(super) async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, DbError>>,
    ) -> Option<Result<T, DbError>> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = TokioTime.sleep(self.limit) => None,
        }
    }
}

/// A connection from the pool. It is closed if it was dropped in the middle of a call, because its
/// next answer is unknown.
#[derive(Debug)]
pub(super) struct PooledClient {
    client: Option<Client>,
}

impl PooledClient {
    /// Returns the connection to the pool, and passes on the result.
    pub(super) fn end<T>(mut self, answer: Option<Result<T, DbError>>) -> Result<T, DbError> {
        let Some(answer) = answer else {
            return Err(DbError::Doubtful("PostgreSQL does not answer".to_owned()));
        };
        // Back into the pool, which looks whether it is closed.
        drop(self.client.take());
        answer
    }
}

impl Deref for PooledClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_ref().expect("it is there until the loan ends")
    }
}

impl DerefMut for PooledClient {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("it is there until the loan ends")
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

/// The connection for notifications. It has the same time limits.
pub(super) fn line(
    address: &PostgresAddress,
    options: &PostgresOptions,
) -> Result<ListenerConfig, Error> {
    let bound = part(options.lease, 4);
    let tls = address.tls.then(|| address::tls_connector(address.roots.as_deref())).transpose()?;
    Ok(ListenerConfig { config: wire(address, bound.min(options.connect_time), bound), tls, bound })
}

/// An address with the settings of TCP.
fn wire(address: &PostgresAddress, connect: Span, whole: Span) -> Config {
    let mut config = address.config.clone();
    config
        .connect_timeout(connect.into())
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES)
        .tcp_user_timeout(UNACKNOWLEDGED.min(whole.into()));
    config
}

/// Settings of each connection. Nothing is acknowledged before it is durable, also where the server's
/// default is to forget the last moments in a crash. Statements are planned once, also while a table is
/// empty, and none of them is to look through a whole table once it is not.
fn prepare_session(bounds: Bounds) -> Hook {
    let sql = format!(
        "SET statement_timeout = {}; SET lock_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET enable_seqscan = off; SET jit = off; \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'",
        millis(bounds.statement),
        millis(bounds.lock),
        millis(bounds.idle),
    );
    Hook::async_fn(move |client, _| {
        let sql = sql.clone();
        Box::pin(async move { client.batch_execute(&sql).await.map_err(HookError::Backend) })
    })
}

/// A part of a lease.
fn part(lease: Span, of: u64) -> Span {
    Span::from_nanos(lease.max(SHORTEST_LEASE).as_nanos() / of)
}

fn millis(span: Span) -> u64 {
    span.as_nanos() / Span::from_millis(1).as_nanos()
}

fn unavailable(error: &PoolError) -> Error {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            Error::store(words(error))
        }
        PoolError::Timeout(_) => Error::busy("no free connection to PostgreSQL in time"),
        other => Error::store(format!("PostgreSQL: {other}")),
    }
}
