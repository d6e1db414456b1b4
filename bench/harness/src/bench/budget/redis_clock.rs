//! A Redis in virtual time: a relay in front of a real one, which tells the budget's script the runtime's clock.
//!
//! The script takes the time as a last argument, for tests; without it, it takes the server's. The relay asks
//! Redis on a thread for blocking work, and tokio's paused clock stands still while one is busy. So an exchange
//! takes no virtual time but what the relay's own socket takes, which is until the next timers.

use std::error::Error;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};

use redis::{Parser, Value, pack_command};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use crate::rig::{Redis, ScratchFolder};

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
