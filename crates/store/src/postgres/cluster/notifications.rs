//! Hints: notifications of the database as texts, on a connection of their own.
//!
//! Nothing depends on them: where they do not arrive, everything is found a little later. A text is words,
//! and shards as the 64 digits of their bits.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use stagger::{Sleep, Span, TokioTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreBackoff;
use crate::{Notification, ShardId, Shards};

/// The pause between two notifications of one process; those in between are sent together. Each one
/// is a transaction, and all that notify wait for each other when they commit.
const PAUSE: Span = Span::from_millis(10);

/// The longest name of a channel, in bytes.
const CHANNEL: usize = 63;

/// Sends and receives notifications of processes. Ends when it is dropped.
#[derive(Debug)]
pub(in super::super) struct Notifications {
    line: ListenerConfig,
    pending: Arc<PendingNotifications>,
    task: OnceLock<JoinHandle<()>>,
}

/// The connection settings for notifications.
#[derive(Clone)]
pub(in super::super) struct ListenerConfig {
    pub(in super::super) config: Config,
    pub(in super::super) tls: Option<MakeRustlsConnect>,
    /// The time limit of every operation, and the idle time after which the connection is checked.
    pub(in super::super) bound: Span,
}

impl std::fmt::Debug for ListenerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListenerConfig").field("bound", &self.bound).finish_non_exhaustive()
    }
}

/// The notifications to send, and their listeners.
#[derive(Debug)]
struct PendingNotifications {
    pending: Mutex<Bundle>,
    wake: Notify,
    hearers: Mutex<Vec<mpsc::UnboundedSender<Notification>>>,
    is_listening: watch::Sender<bool>,
}

impl Notifications {
    /// Nothing is connected before it is needed.
    pub(in super::super) fn new(line: ListenerConfig) -> Self {
        let pending = Arc::new(PendingNotifications {
            pending: Mutex::default(),
            wake: Notify::new(),
            hearers: Mutex::default(),
            is_listening: watch::Sender::new(false),
        });
        Self { line, pending, task: OnceLock::new() }
    }

    /// Notifies all processes, this one included.
    pub(super) fn tell(&self, notification: Notification) {
        self.start();
        lock(&self.pending.pending).add(notification);
        self.pending.wake.notify_one();
    }

    /// Returns all later notifications. If listening fails now, it starts as soon as possible, and
    /// then notifies of everything.
    pub(super) async fn hear(&self) -> mpsc::UnboundedReceiver<Notification> {
        self.start();
        let mut is_listening = self.pending.is_listening.subscribe();
        tokio::select! {
            biased;
            _ = is_listening.wait_for(|is| *is) => {}
            () = TokioTime.sleep(self.line.bound) => {}
        }
        let (hearer, heard) = mpsc::unbounded_channel();
        lock(&self.pending.hearers).push(hearer);
        heard
    }

    fn start(&self) {
        self.task
            .get_or_init(|| tokio::spawn(keep_up(self.line.clone(), Arc::clone(&self.pending))));
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl PendingNotifications {
    fn pass_on(&self, bundle: Bundle) {
        let mut hearers = lock(&self.hearers);
        for notification in bundle.notifications() {
            hearers.retain(|hearer| hearer.send(notification).is_ok());
        }
    }
}

/// Connects again and again.
async fn keep_up(line: ListenerConfig, pending: Arc<PendingNotifications>) {
    let mut backoff = StoreBackoff::default();
    loop {
        let ended = connect(&line, &pending).await;
        if pending.is_listening.send_replace(false) {
            backoff = StoreBackoff::default();
        }
        tracing::debug!(why = %ended, "notifications between nodes interrupted");
        backoff.wait().await;
    }
}

/// Sends and receives until the connection ends; returns the reason.
async fn connect(line: &ListenerConfig, pending: &PendingNotifications) -> Ended {
    if let Some(tls) = &line.tls {
        match bounded(line.bound, line.config.connect(tls.clone())).await {
            Ok((client, connection)) => talk(line.bound, client, connection, pending).await,
            Err(ended) => ended,
        }
    } else {
        match bounded(line.bound, line.config.connect(NoTls)).await {
            Ok((client, connection)) => talk(line.bound, client, connection, pending).await,
            Err(ended) => ended,
        }
    }
}

/// Receives and sends concurrently: both poll the connection.
async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    bound: Span,
    client: Client,
    connection: Connection<Socket, S>,
    pending: &PendingNotifications,
) -> Ended {
    tokio::select! {
        ended = hear(connection, pending) => ended,
        ended = speak(bound, &client, pending) => ended,
    }
}

async fn hear<S: AsyncRead + AsyncWrite + Unpin>(
    mut connection: Connection<Socket, S>,
    pending: &PendingNotifications,
) -> Ended {
    loop {
        match std::future::poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(told))) => {
                pending.pass_on(Bundle::read(told.payload()));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ended::Broken(error),
            None => return Ended::Silent,
        }
    }
}

async fn speak(bound: Span, client: &Client, pending: &PendingNotifications) -> Ended {
    let channel = match bounded(bound, listen(client)).await {
        Ok(channel) => channel,
        Err(ended) => return ended,
    };
    // All notifications that may have been missed.
    pending.pass_on(Bundle::ALL);
    pending.is_listening.send_replace(true);
    loop {
        tokio::select! {
            () = pending.wake.notified() => {}
            () = TokioTime.sleep(bound) => {}
        }
        let bundle = std::mem::take(&mut *lock(&pending.pending));
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
    let channel = channel_of(row.get::<_, Option<&str>>(0).unwrap_or_default());
    client.batch_execute(&format!("LISTEN \"{}\"", channel.replace('"', "\"\""))).await?;
    Ok(channel)
}

/// The channel of a schema.
pub(in super::super) fn channel_of(schema: &str) -> String {
    let mut channel = format!("stagger.{schema}");
    while channel.len() > CHANNEL {
        channel.pop();
    }
    channel
}

/// The text of a notification about work; none if there is no work.
pub(in super::super) fn work_text(shards: Shards) -> Option<String> {
    let mut bundle = Bundle::default();
    bundle.add(Notification::Work(shards));
    bundle.write()
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
            Self::Broken(error) => f.write_str(&super::super::statement::words(error)),
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

const ROLL: &str = "roll";

const NEWS: &str = "news";

/// Bytes of a set of shards, one bit for each.
const BYTES: usize = Shards::COUNT / 8;

/// Notifications that have not been sent: any number, in one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    work: Shards,
    members: bool,
    settings: bool,
}

impl Bundle {
    /// All notifications.
    pub(super) const ALL: Self = Self { work: Shards::ALL, members: true, settings: true };

    pub(super) fn add(&mut self, notification: Notification) {
        match notification {
            Notification::Work(shards) => self.work = self.work.union(shards),
            Notification::Members => self.members = true,
            Notification::Settings => self.settings = true,
        }
    }

    pub(super) fn notifications(self) -> impl Iterator<Item = Notification> {
        let work = (!self.work.is_empty()).then_some(Notification::Work(self.work));
        let members = self.members.then_some(Notification::Members);
        work.into_iter().chain(members).chain(self.settings.then_some(Notification::Settings))
    }

    /// The text; none if there is nothing to say.
    pub(super) fn write(self) -> Option<String> {
        let words: Vec<_> = self.notifications().map(word).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Parses a text. Unknown words are ignored: another release may have them.
    pub(super) fn read(text: &str) -> Self {
        let mut bundle = Self::default();
        for word in text.split(' ') {
            match word {
                ROLL => bundle.add(Notification::Members),
                NEWS => bundle.add(Notification::Settings),
                digits => bundle.work = bundle.work.union(shards(digits).unwrap_or_default()),
            }
        }
        bundle
    }
}

fn word(notification: Notification) -> String {
    let Notification::Work(shards) = notification else {
        return (if notification == Notification::Members { ROLL } else { NEWS }).to_owned();
    };
    let mut bytes = [0_u8; BYTES];
    shards.iter().for_each(|shard| bytes[usize::from(shard.0 / 8)] |= 1 << (shard.0 % 8));
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn shards(digits: &str) -> Option<Shards> {
    let is_whole = digits.len() == 2 * BYTES && digits.is_ascii();
    let mut shards = Shards::NONE;
    for at in 0..if is_whole { BYTES } else { return None } {
        let byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        for bit in (0..8).filter(|bit| byte & (1 << bit) != 0) {
            shards.insert(ShardId(u8::try_from(8 * at + bit).ok()?));
        }
    }
    Some(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_of_all_kinds_are_read_as_written() {
        let mut bundle = Bundle::default();
        assert_eq!(bundle.write(), None);
        let some = |n: &[u8]| Notification::Work(n.iter().copied().map(ShardId).collect());
        for notification in
            [some(&[0, 255]), Notification::Settings, some(&[9]), Notification::Settings]
        {
            bundle.add(notification);
        }
        let text = bundle.write().unwrap();
        assert_eq!(text, format!("0102{}80 news", "0".repeat(58)));
        assert_eq!(Bundle::read(&text), bundle);
        assert_eq!(
            bundle.notifications().collect::<Vec<_>>(),
            [some(&[0, 9, 255]), Notification::Settings]
        );
        assert_eq!(Bundle::read(&Bundle::ALL.write().unwrap()), Bundle::ALL);
    }

    #[test]
    fn unknown_words_are_ignored() {
        for text in ["", "ab", "zz".repeat(32).as_str(), "\u{e4}".repeat(32).as_str(), "later=7"] {
            assert_eq!(Bundle::read(text), Bundle::default(), "{text}");
        }
        assert_eq!(
            Bundle::read("later=7 roll").notifications().collect::<Vec<_>>(),
            [Notification::Members]
        );
    }
}
