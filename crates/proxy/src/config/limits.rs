//! The limits of the whole proxy: connections, sizes and times of clients, and the time to drain.

use stagger::Span;
use stagger_text::parse_size;
use stagger_text::settings::{Flaw, Reader};

/// The most connections of clients that may be configured: each holds a descriptor and some 20 KiB.
const MAX_CONNECTIONS: u32 = 100_000;

/// Bounds of the size of a request's head. hyper needs 8 KiB to parse; more than 1 MiB is an attack.
const HEAD_SIZES: (u64, u64) = (8 << 10, 1 << 20);

/// The longest time for which a client may be waited for.
const MAX_WAIT: Span = Span::from_secs(3_600);

/// The longest time for which both sides of a tunnel may be silent.
const MAX_SILENCE: Span = Span::from_secs(24 * 3_600);

/// Limits on clients, the same on every listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Connections of clients at one time, from 1 to 100 000. Default: 1024.
    pub max_connections: usize,
    /// Bytes of a request's head, from 8 KiB to 1 MiB. Default: 64 KiB.
    pub head_size: usize,
    /// Time for the head of a request, from its first byte. Default: 10 s.
    pub head_timeout: Span,
    /// Time between two requests of a connection. Default: 75 s.
    pub idle_timeout: Span,
    /// Time in which a client must send some of its body, or take some of a reply. Default: 30 s.
    pub stall_timeout: Span,
    /// Time for the calls under way when the proxy is told to stop. Default: 30 s.
    pub drain: Span,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            head_size: 64 << 10,
            head_timeout: Span::from_secs(10),
            idle_timeout: Span::from_secs(75),
            stall_timeout: Span::from_secs(30),
            drain: Span::from_secs(30),
        }
    }
}

impl ProxyLimits {
    /// Reads the limits in `[proxy]`.
    pub(super) fn read(table: &Reader<'_, '_>) -> Result<Self, Flaw> {
        let default = Self::default();
        let connections = table.count("max_connections", (1, MAX_CONNECTIONS))?;
        let connections = connections.and_then(|count| usize::try_from(count).ok());
        Ok(Self {
            max_connections: connections.unwrap_or(default.max_connections),
            head_size: size(table, "head_size", HEAD_SIZES)?.unwrap_or(default.head_size),
            head_timeout: wait(table, "head_timeout")?.unwrap_or(default.head_timeout),
            idle_timeout: wait(table, "idle_timeout")?.unwrap_or(default.idle_timeout),
            stall_timeout: wait(table, "stall_timeout")?.unwrap_or(default.stall_timeout),
            drain: up_to(table, "drain", MAX_WAIT)?.unwrap_or(default.drain),
        })
    }
}

/// A time above zero, of at most an hour.
pub(super) fn wait(table: &Reader<'_, '_>, key: &'static str) -> Result<Option<Span>, Flaw> {
    table.above_zero(key)?;
    up_to(table, key, MAX_WAIT)
}

/// The time for which a tunnel or a WebSocket may be silent: above zero, of at most a day.
pub(super) fn tunnel_wait(table: &Reader<'_, '_>) -> Result<Option<Span>, Flaw> {
    const KEY: &str = "tunnel_idle_timeout";
    table.above_zero(KEY)?;
    up_to(table, KEY, MAX_SILENCE)
}

fn up_to(table: &Reader<'_, '_>, key: &'static str, most: Span) -> Result<Option<Span>, Flaw> {
    match table.span(key)? {
        Some(span) if span > most => Err(table.wrong(key, &format!("at most {most}"))),
        span => Ok(span),
    }
}

/// A number of bytes within bounds, such as `64KiB`.
pub(super) fn size(
    table: &Reader<'_, '_>,
    key: &'static str,
    (least, most): (u64, u64),
) -> Result<Option<usize>, Flaw> {
    let Some((text, _)) = table.plain(key)? else { return Ok(None) };
    let bytes = parse_size(&text).filter(|bytes| (least..=most).contains(bytes));
    match bytes.and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            let bound =
                format!("bytes such as \"64KiB\", from {} to {}", named(least), named(most));
            Err(table.wrong(key, &bound))
        }
    }
}

fn named(bytes: u64) -> String {
    stagger_text::shown_size(bytes).replace(' ', "")
}
