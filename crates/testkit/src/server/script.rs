//! The server's reaction to one request, and to a sequence of them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// The server's reaction to one request.
///
/// ```
/// use std::time::Duration;
/// use stagger_testkit::server::{ConnectionEnd, Reaction};
///
/// let busy = Reaction::status(503).header("retry-after", "1");
/// let cut = Reaction::ok("abcdef").cut(3).ending(ConnectionEnd::Reset);
/// let slow = Reaction::ok("abcdef").drip(Duration::from_millis(1));
/// assert_ne!(format!("{cut:?}"), format!("{slow:?}"));
/// assert!(format!("{busy:?}").contains("503"));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Reaction(pub(super) ReactionKind);

#[derive(Clone, Debug)]
pub(super) enum ReactionKind {
    Answer(Box<PreparedResponse>),
    /// The request is read to its end, then this, without a word.
    Silent(ConnectionEnd),
    ResetUnread,
    GoAway {
        reason: Reason,
        covers: bool,
        close: bool,
    },
}

/// The step after the last byte that the server sends for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The connection stays open for the next request.
    KeepAlive,
    /// The connection is closed in order (FIN), under TLS without its farewell.
    Close,
    /// The connection is reset (RST).
    Reset,
    /// Nothing any more; the connection stays open until the client leaves.
    Hang,
    /// HTTP/2: `RST_STREAM` with this reason. HTTP/1.1 has no streams: closed in order.
    ResetStream(Reason),
}

#[derive(Clone, Debug)]
pub(super) struct PreparedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) trailers: Option<HeaderMap>,
    pub(super) chunked: bool,
    /// So many bytes of the body are sent, though the head promises all; `None` sends it whole.
    pub(super) sent: Option<usize>,
    pub(super) drip: Option<Duration>,
    pub(super) ending: ConnectionEnd,
}

impl Reaction {
    /// Answers with this status and an empty body; the connection stays open.
    ///
    /// # Panics
    /// When the status is not in 100..=999.
    pub fn status(status: u16) -> Self {
        let status = StatusCode::from_u16(status).expect("a script holds valid statuses");
        Self(ReactionKind::Answer(Box::new(PreparedResponse {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            trailers: None,
            chunked: false,
            sent: None,
            drip: None,
            ending: ConnectionEnd::KeepAlive,
        })))
    }

    /// Answers 200 with this body.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::status(200).body(body)
    }

    /// Reads the request and never answers.
    pub fn hang() -> Self {
        Self(ReactionKind::Silent(ConnectionEnd::Hang))
    }

    /// Reads the request, then closes the connection in order, without an answer.
    pub fn close() -> Self {
        Self(ReactionKind::Silent(ConnectionEnd::Close))
    }

    /// Reads the request, then resets the connection, without an answer.
    pub fn reset() -> Self {
        Self(ReactionKind::Silent(ConnectionEnd::Reset))
    }

    /// Resets the connection as soon as the request's first byte arrives, before reading it; under
    /// TLS on a new connection that is before the handshake. Such a request is not among those seen.
    ///
    /// In the script of a path or a header the head has been read by then, and on a second stream
    /// of HTTP/2 its headers.
    pub fn reset_unread() -> Self {
        Self(ReactionKind::ResetUnread)
    }

    /// HTTP/2: reads the request, then `RST_STREAM`. `REFUSED_STREAM` says that nothing was done.
    pub fn reset_stream(reason: Reason) -> Self {
        Self(ReactionKind::Silent(ConnectionEnd::ResetStream(reason)))
    }

    /// HTTP/2: `GOAWAY` whose last stream id lies below this request, which is thereby unprocessed
    /// and never answered. Streams below are served on; the client closes the connection.
    pub fn go_away_below(reason: Reason) -> Self {
        Self(ReactionKind::GoAway { reason, covers: false, close: false })
    }

    /// HTTP/2: `GOAWAY` whose last stream id is this request's, which may have been acted on, and
    /// is never answered; then the connection is closed.
    pub fn go_away_at(reason: Reason) -> Self {
        Self(ReactionKind::GoAway { reason, covers: true, close: true })
    }

    /// Adds a header to an answer.
    ///
    /// # Panics
    /// When name or value is not valid in HTTP.
    pub fn header(self, name: &str, value: &str) -> Self {
        let (name, value) = field(name, value);
        self.change(|answer| _ = answer.headers.append(name, value))
    }

    /// The body of an answer.
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        self.change(|answer| answer.body = body)
    }

    /// Adds a trailer after the body; in HTTP/1.1 it makes the body chunked.
    ///
    /// # Panics
    /// When name or value is not valid in HTTP.
    pub fn trailer(self, name: &str, value: &str) -> Self {
        let (name, value) = field(name, value);
        self.change(|answer| {
            answer.chunked = true;
            answer.trailers.get_or_insert_default().append(name, value);
        })
    }

    /// HTTP/1.1: the body in chunks, without a length in the head.
    pub fn chunked(self) -> Self {
        self.change(|answer| answer.chunked = true)
    }

    /// Sends so many bytes of the body, less than the head promised, and closes the connection;
    /// [`ending`](Self::ending) says otherwise.
    pub fn cut(self, bytes: usize) -> Self {
        self.change(|answer| (answer.sent, answer.ending) = (Some(bytes), ConnectionEnd::Close))
    }

    /// Sends the head and so many bytes of the body, then nothing any more.
    pub fn stall(self, bytes: usize) -> Self {
        self.cut(bytes).ending(ConnectionEnd::Hang)
    }

    /// Sends the body byte by byte, waiting so long before each one.
    pub fn drip(self, interval: Duration) -> Self {
        self.change(|answer| answer.drip = Some(interval))
    }

    /// The step after the answer. [`ConnectionEnd::Close`] after a whole body leaves the client with a
    /// stale connection, for the head has not announced it.
    pub fn ending(self, ending: ConnectionEnd) -> Self {
        self.change(|answer| answer.ending = ending)
    }

    /// Nothing to change when there is no answer.
    fn change(mut self, change: impl FnOnce(&mut PreparedResponse)) -> Self {
        if let ReactionKind::Answer(answer) = &mut self.0 {
            change(answer);
        }
        self
    }
}

impl PreparedResponse {
    /// The part of the body that is sent.
    pub(super) fn part(&self) -> Bytes {
        let sent = self.sent.unwrap_or(usize::MAX);
        self.body.slice(..sent.min(self.body.len()))
    }

    /// The body is sent whole.
    pub(super) fn is_whole(&self) -> bool {
        self.sent.is_none()
    }
}

fn field(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    let name = HeaderName::from_bytes(name.as_bytes()).expect("a script holds valid names");
    (name, HeaderValue::from_str(value).expect("a script holds valid values"))
}

/// One reaction a request, in order of arrival, and what follows when they are used up: by default
/// 200 with an empty body. Requests of a path or with a header can have a script of their own, so
/// that calls in parallel do not take each other's reactions.
///
/// ```
/// use stagger_testkit::server::{Reaction, Script};
///
/// let script = Script::of([Reaction::status(500), Reaction::reset()])
///     .then(Reaction::status(404))
///     .on_path("/slow", Script::always(Reaction::hang()))
///     .on_header("caller", "7", Script::of([Reaction::close()]));
/// assert_eq!(script.left(), 3);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Script {
    queue: VecDeque<Reaction>,
    rest: Reaction,
    routes: Vec<(ScriptKey, Script)>,
}

#[derive(Clone, Debug)]
enum ScriptKey {
    /// Without the query.
    Path(String),
    Header(String, String),
}

impl Script {
    /// These, in order.
    pub fn of(reactions: impl IntoIterator<Item = Reaction>) -> Self {
        let queue = reactions.into_iter().collect();
        Self { queue, rest: Reaction::status(200), routes: Vec::new() }
    }

    /// This one, for every request.
    pub fn always(reaction: Reaction) -> Self {
        Self::of([]).then(reaction)
    }

    /// The reactions that follow when those in order are used up.
    pub fn then(mut self, rest: Reaction) -> Self {
        self.rest = rest;
        self
    }

    /// A script for requests of this path (given without a query); the first key that fits counts.
    pub fn on_path(mut self, path: &str, script: Self) -> Self {
        self.routes.push((ScriptKey::Path(path.into()), script));
        self
    }

    /// A script for requests with this header and value.
    pub fn on_header(mut self, name: &str, value: &str, script: Self) -> Self {
        self.routes.push((ScriptKey::Header(name.into(), value.into()), script));
        self
    }

    /// Reactions in order that no request has taken yet, those of paths and headers included.
    #[must_use]
    pub fn left(&self) -> usize {
        self.queue.len() + self.routes.iter().map(|(_, script)| script.left()).sum::<usize>()
    }

    /// The next reaction, for a request whose head is known.
    pub(super) fn next(&mut self, path: &str, headers: &HeaderMap) -> Reaction {
        match self.routes.iter_mut().find(|(key, _)| key.fits(path, headers)) {
            Some((_, script)) => script.next(path, headers),
            None => self.queue.pop_front().unwrap_or_else(|| self.rest.clone()),
        }
    }

    /// Takes the next reaction if it needs no look at the request. Whoever has scripts of paths or
    /// headers cannot know whose turn it is.
    pub(super) fn take_unread(&mut self) -> bool {
        let next = self.queue.front().unwrap_or(&self.rest);
        let unread = self.routes.is_empty() && matches!(next.0, ReactionKind::ResetUnread);
        if unread {
            self.queue.pop_front();
        }
        unread
    }
}

impl ScriptKey {
    fn fits(&self, path: &str, headers: &HeaderMap) -> bool {
        match self {
            Self::Path(want) => path.split('?').next() == Some(want),
            Self::Header(name, want) => {
                headers.get_all(name).iter().any(|value| value.as_bytes() == want.as_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(script: &mut Script, path: &str, headers: &HeaderMap) -> u16 {
        match script.next(path, headers).0 {
            ReactionKind::Answer(answer) => answer.status.as_u16(),
            other => panic!("not an answer: {other:?}"),
        }
    }

    #[test]
    fn calls_in_parallel_do_not_take_each_others_reactions() {
        let mut script = Script::of([Reaction::status(501)])
            .on_path("/a", Script::of([Reaction::status(502)]))
            .on_header("caller", "7", Script::of([Reaction::status(503)]));
        let (none, mut seven) = (HeaderMap::new(), HeaderMap::new());
        seven.insert("caller", HeaderValue::from_static("7"));
        assert_eq!(status(&mut script, "/a?b=c", &none), 502);
        assert_eq!(status(&mut script, "/b", &seven), 503);
        assert_eq!(status(&mut script, "/b", &none), 501);
        assert_eq!(script.left(), 0);
        assert_eq!(status(&mut script, "/b", &none), 200);
    }

    #[test]
    fn nobody_is_reset_unread_in_anothers_place() {
        let mut script = Script::of([Reaction::reset_unread(), Reaction::ok("")]);
        assert!(script.take_unread());
        assert!(!script.take_unread());
        let mut script = Script::always(Reaction::reset_unread()).on_path("/a", Script::of([]));
        assert!(!script.take_unread());
    }
}
