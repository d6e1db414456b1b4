//! Calls of a closure, of one process and of several with one budget in Redis, which has the runtime's
//! virtual time.
//!
//! A relay in front of a real Redis tells the budget's script the time.

use std::error::Error;
use std::future::Future;
use std::io;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Parser, Value, pack_command};
use stagger::hedge::HedgePlan;
use stagger::{ConfigError, Policy, PolicyBuilder, Retrier, Span, TokioTime};
use stagger_redis::{SharedOptions, SharedStore, StoreFallback};
use stagger_testkit::Mix;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

use super::upstream::Upstream;
use crate::rig::{Redis, ScratchFolder};

/// After how long without an answer a second copy is sent.
const HEDGE: Span = Span::from_millis(100);

/// Items of a batch.
const ITEMS: [u32; 3] = [1, 2, 3];

/// Under `policy`, with nothing around the call.
pub(super) fn plain(
    upstream: Upstream,
    policy: PolicyBuilder,
) -> Result<LayoutCaller, ConfigError> {
    let retrier = retrier(policy)?;
    Ok(caller(move || {
        let (retrier, upstream) = (retrier.clone(), upstream.clone());
        async move {
            let _failed = retrier.retry(|| upstream.clone().answer()).when(any).await;
        }
    }))
}

/// The policy bounds the whole call.
pub(super) fn policy_deadline(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    plain(upstream, policy().deadline(Span::from(PATIENCE)))
}

/// `tokio::time::timeout` bounds the whole call, and drops it.
pub(super) fn tokio_timeout(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let call = plain(upstream, policy())?;
    Ok(caller(move || {
        let call = call();
        async {
            let _elapsed = timeout(PATIENCE, call).await;
        }
    }))
}

/// The call is a task, which its owner aborts.
pub(super) fn cancel(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let call = plain(upstream, policy())?;
    Ok(caller(move || {
        let call = call();
        async {
            let task = tokio::spawn(call);
            sleep(PATIENCE).await;
            task.abort();
        }
    }))
}

/// A second copy of a slow attempt.
pub(super) fn hedged(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let policy = policy().hedge(HedgePlan::fixed(HEDGE, 2)?);
    let retrier = retrier(policy)?;
    Ok(caller(move || {
        let (retrier, upstream) = (retrier.clone(), upstream.clone());
        async move {
            let _failed = retrier.retry(|| upstream.clone().answer()).when(any).hedged().await;
        }
    }))
}

/// Several items in one request.
pub(super) fn batch(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let retrier = Arc::new(retrier(policy())?);
    Ok(caller(move || {
        let (retrier, upstream) = (Arc::clone(&retrier), upstream.clone());
        async move {
            let batch =
                retrier
                    .batch(ITEMS.to_vec(), |items| {
                        let upstream = upstream.clone();
                        async move {
                            upstream.answer().await.map(|()| items.into_iter().map(Ok).collect())
                        }
                    })
                    .when(any);
            let _left: stagger::Batch<_, u32, _> = batch.await;
        }
    }))
}

fn any(_: &io::Error) -> bool {
    true
}

/// Begins a call. Its future ends with the call, however that went: only arrivals are counted.
pub(super) type LayoutCaller = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// The time limit of callers that bring their own.
pub(super) const PATIENCE: Duration = Duration::from_millis(900);

/// The time limit of an attempt.
const ATTEMPT: Span = Span::from_millis(500);

/// All delays are drawn from this seed.
const SEED: u64 = 7;

/// A caller whose calls are the futures of `call`.
pub(super) fn caller<Fut: Future<Output = ()> + Send + 'static>(
    call: impl Fn() -> Fut + Send + 'static,
) -> LayoutCaller {
    Box::new(move || Box::pin(call()))
}

/// The policy of every layout: up to three attempts of half a second, and the default budget.
pub(super) fn policy() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(ATTEMPT)
}

/// Calls under `policy` by the runtime's clock, with a ledger of their own and the same delays in every run.
pub(super) fn retrier(policy: PolicyBuilder) -> Result<Retrier<TokioTime>, ConfigError> {
    Ok(Retrier::new(policy.build()?, TokioTime).with_entropy(Mix::new(SEED)))
}

/// Processes of the fleet, each with a connection and leases of its own. Calls go to one after another.
const PROCESSES: u32 = 4;

/// Real leases from a real Redis, whose script is told the virtual time.
pub(super) async fn shared_redis(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let redis = Redis::start("bench-budget-redis")
        .map_err(|error| format!("{error}; --layouts picks those that need no Redis"))?;
    let clock = RedisClock::start(redis)?;
    // Without its store this fleet makes no retries, so the figures are those of the leases.
    let options = SharedOptions::new(PROCESSES)?.with_fallback(StoreFallback::Refuse)?;
    let mut fleet = Vec::new();
    for _ in 0..PROCESSES {
        let store = SharedStore::connect(clock.url(), options.clone()).await?;
        let retrier = retrier(policy())?;
        let ledger = store.ledger("upstream", retrier.policy())?;
        fleet.push(retrier.with_ledger(ledger));
    }
    let next = AtomicUsize::new(0);
    Ok(caller(move || {
        let _running = &clock;
        let process = next.fetch_add(1, Ordering::Relaxed) % fleet.len();
        let (retrier, upstream) = (fleet[process].clone(), upstream.clone());
        async move {
            let call = retrier.retry(|| upstream.clone().answer()).when(|_: &io::Error| true);
            let _failed = call.await;
        }
    }))
}

/// The virtual clock's start, in microseconds: a real one is never near zero either.
const START_US: u128 = 1_000_000_000_000;

/// A running relay; it ends with its Redis when it is dropped.
pub(super) struct RedisClock {
    url: String,
    _relay: JoinSet<io::Result<()>>,
    _folder: ScratchFolder,
    _redis: Redis,
}

impl RedisClock {
    /// A relay in front of `redis`.
    pub(super) fn start(redis: Redis) -> Result<Self, Box<dyn Error>> {
        let server = redis.url().strip_prefix("unix://").ok_or("Redis listens on no socket")?;
        let server = PathBuf::from(server);
        let folder = ScratchFolder::new("bench-budget-clock")?;
        let socket = folder.path().join("redis.sock");
        let listener = UnixListener::bind(&socket)?;
        let mut relay = JoinSet::new();
        relay.spawn(accept(listener, server));
        let url = format!("unix://{}", socket.display());
        Ok(Self { url, _relay: relay, _folder: folder, _redis: redis })
    }

    /// The address to which clients connect.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

async fn accept(listener: UnixListener, server: PathBuf) -> io::Result<()> {
    let started = Instant::now();
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        connections.spawn(relay(client, connect(&server)?, started));
    }
}

fn connect(server: &Path) -> io::Result<Blocking> {
    Blocking::connect(server)
}

/// One client's commands, one after the other.
async fn relay(client: UnixStream, mut server: Blocking, started: Instant) -> io::Result<()> {
    let mut client = BufReader::new(client);
    loop {
        let mut command = read_command(&mut client).await?;
        if command[0].eq_ignore_ascii_case(b"EVALSHA") {
            let now = START_US + started.elapsed().as_micros();
            command.push(now.to_string().into_bytes());
        }
        let exchange =
            spawn_blocking(move || exchange(&mut server, &command).map(|reply| (server, reply)));
        let reply;
        (server, reply) = exchange.await??;
        client.write_all(&reply).await?;
    }
}

/// A command: an array of strings, as every client of Redis sends it.
async fn read_command(client: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<Vec<u8>>> {
    let words = read_length(client, '*').await?;
    let mut command = Vec::new();
    for _ in 0..words {
        let mut word = vec![0; read_length(client, '$').await? + "\r\n".len()];
        client.read_exact(&mut word).await?;
        word.truncate(word.len() - "\r\n".len());
        command.push(word);
    }
    Ok(command)
}

async fn read_length(client: &mut (impl AsyncBufRead + Unpin), kind: char) -> io::Result<usize> {
    let mut line = String::new();
    client.read_line(&mut line).await?;
    let length = line.trim_end().strip_prefix(kind).and_then(|length| length.parse().ok());
    length.filter(|length| *length > 0).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sends a command to Redis, and returns the bytes of its reply.
fn exchange(server: &mut Blocking, command: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    server.write_all(&pack_command(command))?;
    let mut reply = Copied { from: server, bytes: Vec::new() };
    let _: Value = Parser::new().parse_value(&mut reply).map_err(io::Error::other)?;
    Ok(reply.bytes)
}

/// A reader that keeps what was read.
struct Copied<'s> {
    from: &'s mut Blocking,
    bytes: Vec<u8>,
}

impl Read for Copied<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..read]);
        Ok(read)
    }
}
