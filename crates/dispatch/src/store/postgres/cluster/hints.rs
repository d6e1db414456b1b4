//! Hints: notifications of the database, on a connection of their own. Nothing depends on them: where they
//! do not arrive, everything is found a little later.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use stagger::{Sleep, Span, TokioTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::wire_text::Bundle;
use crate::patience::Patience;
use crate::store::Hint;

/// Between two notifications of one process: what is hinted at meanwhile goes into the next. Each one is a
/// transaction, and all that notify wait for each other when they commit.
const PAUSE: Span = Span::from_millis(10);
/// What a name of a channel has room for, in bytes.
const CHANNEL: usize = 63;

/// Tells other processes, and hears them. Ends when it is dropped.
#[derive(Debug)]
pub(in super::super) struct Hints {
    line: Line,
    exchange: Arc<Exchange>,
    task: OnceLock<JoinHandle<()>>,
}

/// How the database is reached for hints.
#[derive(Clone)]
pub(in super::super) struct Line {
    pub(in super::super) config: Config,
    pub(in super::super) tls: Option<MakeRustlsConnect>,
    /// How long anything may take, and how long nothing need be said before it is seen whether the server
    /// is still there.
    pub(in super::super) bound: Span,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("bound", &self.bound).finish_non_exhaustive()
    }
}

/// What is to be told, and to whom.
#[derive(Debug)]
struct Exchange {
    pending: Mutex<Bundle>,
    wake: Notify,
    hearers: Mutex<Vec<mpsc::UnboundedSender<Hint>>>,
    is_listening: watch::Sender<bool>,
}

impl Hints {
    /// Nothing is connected before it is needed.
    pub(in super::super) fn new(line: Line) -> Self {
        let exchange = Arc::new(Exchange {
            pending: Mutex::default(),
            wake: Notify::new(),
            hearers: Mutex::default(),
            is_listening: watch::Sender::new(false),
        });
        Self { line, exchange, task: OnceLock::new() }
    }

    /// Tells all, this process included.
    pub(super) fn tell(&self, hint: Hint) {
        self.start();
        lock(&self.exchange.pending).add(hint);
        self.exchange.wake.notify_one();
    }

    /// What is told from now on. If it cannot be listened for now, it is as soon as that is possible, and
    /// everything is hinted at then.
    pub(super) async fn hear(&self) -> mpsc::UnboundedReceiver<Hint> {
        self.start();
        let mut is_listening = self.exchange.is_listening.subscribe();
        tokio::select! {
            biased;
            _ = is_listening.wait_for(|is| *is) => {}
            () = TokioTime.sleep(self.line.bound) => {}
        }
        let (hearer, heard) = mpsc::unbounded_channel();
        lock(&self.exchange.hearers).push(hearer);
        heard
    }

    fn start(&self) {
        self.task
            .get_or_init(|| tokio::spawn(keep_up(self.line.clone(), Arc::clone(&self.exchange))));
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Exchange {
    fn pass_on(&self, bundle: Bundle) {
        let mut hearers = lock(&self.hearers);
        for hint in bundle.hints() {
            hearers.retain(|hearer| hearer.send(hint).is_ok());
        }
    }
}

/// Connects again and again.
async fn keep_up(line: Line, exchange: Arc<Exchange>) {
    let mut patience = Patience::new();
    loop {
        let ended = connect(&line, &exchange).await;
        if exchange.is_listening.send_replace(false) {
            patience = Patience::new();
        }
        tracing::debug!(why = %ended, "no hints between nodes for now");
        patience.wait().await;
    }
}

/// Tells and hears until the connection ends: why it did.
async fn connect(line: &Line, exchange: &Exchange) -> Ended {
    if let Some(tls) = &line.tls {
        match bounded(line.bound, line.config.connect(tls.clone())).await {
            Ok((client, connection)) => talk(line.bound, client, connection, exchange).await,
            Err(ended) => ended,
        }
    } else {
        match bounded(line.bound, line.config.connect(NoTls)).await {
            Ok((client, connection)) => talk(line.bound, client, connection, exchange).await,
            Err(ended) => ended,
        }
    }
}

/// Hears and speaks at once: the connection is what carries both.
async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    bound: Span,
    client: Client,
    connection: Connection<Socket, S>,
    exchange: &Exchange,
) -> Ended {
    tokio::select! {
        ended = hear(connection, exchange) => ended,
        ended = speak(bound, &client, exchange) => ended,
    }
}

async fn hear<S: AsyncRead + AsyncWrite + Unpin>(
    mut connection: Connection<Socket, S>,
    exchange: &Exchange,
) -> Ended {
    loop {
        match std::future::poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(told))) => {
                exchange.pass_on(Bundle::read(told.payload()));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ended::Broken(error),
            None => return Ended::Silent,
        }
    }
}

async fn speak(bound: Span, client: &Client, exchange: &Exchange) -> Ended {
    let channel = match bounded(bound, listen(client)).await {
        Ok(channel) => channel,
        Err(ended) => return ended,
    };
    // Whatever was told while nobody listened.
    exchange.pass_on(Bundle::ALL);
    exchange.is_listening.send_replace(true);
    loop {
        tokio::select! {
            () = exchange.wake.notified() => {}
            () = TokioTime.sleep(bound) => {}
        }
        let bundle = std::mem::take(&mut *lock(&exchange.pending));
        let told = match bundle.write() {
            Some(text) => bounded(bound, notify(client, &channel, &text)).await,
            None => bounded(bound, client.batch_execute("")).await,
        };
        if let Err(ended) = told {
            return ended;
        }
        TokioTime.sleep(PAUSE).await;
    }
}

/// Listens on the channel of this schema, and says which that is.
async fn listen(client: &Client) -> Result<String, tokio_postgres::Error> {
    let row = client.query_one("SELECT current_schema()::text", &[]).await?;
    let mut channel = format!("stagger.{}", row.get::<_, Option<&str>>(0).unwrap_or_default());
    while channel.len() > CHANNEL {
        channel.pop();
    }
    client.batch_execute(&format!("LISTEN \"{}\"", channel.replace('"', "\"\""))).await?;
    Ok(channel)
}

async fn notify(client: &Client, channel: &str, text: &str) -> Result<(), tokio_postgres::Error> {
    client.execute("SELECT pg_notify($1, $2)", &[&channel, &text]).await.map(drop)
}

/// Why a connection is there no longer.
#[derive(Debug)]
enum Ended {
    Broken(tokio_postgres::Error),
    Silent,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(error) => f.write_str(&super::super::trouble::words(error)),
            Self::Silent => f.write_str("PostgreSQL does not answer"),
        }
    }
}

async fn bounded<T>(
    bound: Span,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Ended> {
    tokio::select! {
        biased;
        done = work => done.map_err(Ended::Broken),
        () = TokioTime.sleep(bound) => Err(Ended::Silent),
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // It is whole between any two of its changes.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
