//! A connection that its attempt owns, and the time limit on its steps.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Builder, SendRequest};
use stagger::{Instant, Sleep, Span, TokioTime};
use stagger_scheduler::model::REPLY_LIMIT;

/// Longest head of a reply, in bytes, and the most of it in memory: common servers send far less.
const MAX_HEAD: usize = 16 << 10;
/// Most of a body that is read so that its connection can be used again, in bytes; for a longer one a
/// new connection is cheaper.
const DRAIN_LIMIT: usize = 16 << 10;
/// The time for which an attempt waits for the body after the head: the verdict is known, and the
/// slot is needed.
const BODY_TIME: Span = Span::from_secs(1);

/// The byte stream of a connection, with or without TLS.
pub(crate) trait ByteStream: hyper::rt::Read + hyper::rt::Write + Send + Unpin {}
impl<W: hyper::rt::Read + hyper::rt::Write + Send + Unpin> ByteStream for W {}

/// A connection of HTTP/1.1. Its attempt polls it: no other task is woken for a request, and
/// dropping it closes it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Boxed, because a connection is moved often: to its attempt, and back to the pool.
    connection: Box<http1::Connection<Box<dyn ByteStream>, Full<Bytes>>>,
    ended: bool,
    pub(crate) born: Instant,
}

/// Why a request got no reply.
pub(crate) enum Lost {
    /// Not a byte was sent: the other side had closed a connection that waited.
    Unsent,
    /// The other side may have seen it.
    Midway(Option<hyper::Error>),
}

impl Connection {
    /// Takes a fresh connection.
    ///
    /// # Errors
    /// Hyper does not take it.
    pub(crate) async fn open(stream: Box<dyn ByteStream>, born: Instant) -> hyper::Result<Self> {
        let (sender, connection) = Builder::new().max_buf_size(MAX_HEAD).handshake(stream).await?;
        Ok(Self { sender, connection: Box::new(connection), ended: false, born })
    }

    /// Whether it can take a request; looks whether the other side has closed it.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let Self { sender, connection, ended, .. } = self;
        poll_fn(|context| {
            *ended = *ended || Pin::new(&mut *connection).poll(context).is_ready();
            Poll::Ready(!*ended && sender.is_ready())
        })
        .await
    }

    /// Sends a request and waits for the head of the reply.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Lost> {
        let reply = pin!(self.sender.try_send_request(request));
        match self.drive(reply).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(mut error)) => match error.take_message() {
                Some(_) => Err(Lost::Unsent),
                None => Err(Lost::Midway(Some(error.into_error()))),
            },
            None => Err(Lost::Midway(None)),
        }
    }

    /// The first [`REPLY_LIMIT`] bytes of a body as they came, nothing unpacked, and whether the body
    /// has ended, so that another request can follow. Of a body that is known to be too long for that, no more is read
    /// than is kept. Waits at most `left`, and never for long.
    pub(crate) async fn read(&mut self, mut body: Incoming, left: Span) -> (Bytes, bool) {
        if body.is_end_stream() {
            return (Bytes::new(), true);
        }
        let mut reply = BytesMut::new();
        let ended = within(left.min(BODY_TIME), pin!(self.read_into(&mut body, &mut reply))).await;
        (reply.freeze(), ended.unwrap_or(false))
    }

    /// The whole of a body that is short; `None` if it is longer than `most`, or breaks off.
    pub(crate) async fn read_whole(&mut self, mut body: Incoming, most: usize) -> Option<Bytes> {
        let mut whole = BytesMut::new();
        // An empty frame counts, or they would have no bound.
        let mut read = 0;
        while !body.is_end_stream() {
            let frame = match self.drive(pin!(body.frame())).await? {
                Some(Ok(frame)) => frame,
                None => break,
                Some(Err(_)) => return None,
            };
            let data = frame.into_data().unwrap_or_default();
            read += data.len().max(1);
            if read > most {
                return None;
            }
            whole.extend_from_slice(&data);
        }
        Some(whole.freeze())
    }

    async fn read_into(&mut self, body: &mut Incoming, reply: &mut BytesMut) -> bool {
        let mut read = 0;
        // At most 16 KiB, which every platform can count.
        let too_long = body.size_hint().lower() > DRAIN_LIMIT as u64;
        while read <= DRAIN_LIMIT && !(too_long && reply.len() == REPLY_LIMIT) {
            let frame = match self.drive(pin!(body.frame())).await {
                Some(Some(Ok(frame))) => frame,
                Some(None) => return true,
                Some(Some(Err(_))) | None => return false,
            };
            // Trailers are dropped; an empty frame counts, or they would have no bound.
            let data = frame.into_data().unwrap_or_default();
            let room = REPLY_LIMIT - reply.len();
            reply.extend_from_slice(&data[..data.len().min(room)]);
            read += data.len().max(1);
        }
        false
    }

    /// Runs the connection until `work` is done; `None` if the connection ends without that.
    async fn drive<F: Future>(&mut self, mut work: Pin<&mut F>) -> Option<F::Output> {
        let Self { connection, ended, .. } = self;
        poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            // Its error, if it has one, comes out of `work`.
            *ended = *ended || Pin::new(&mut *connection).poll(context).is_ready();
            match work.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if *ended => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// The output of `work`, or `None` if it takes longer than `span`; `work` is to be dropped then.
///
/// It is pinned by the caller: moved in here, it would take its room in the caller's future twice.
pub(crate) async fn within<F: Future + ?Sized>(span: Span, work: Pin<&mut F>) -> Option<F::Output> {
    let timer = pin!(TokioTime.sleep(span));
    tokio::select! {
        biased;
        output = work => Some(output),
        () = timer => None,
    }
}
