//! One connection of HTTP/2.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderValue, Method, Request, Response, Version, header::CONTENT_LENGTH};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::interval;

use super::request_log::{OpenConnection, PartialRequest, RequestLog};
use super::script::{ConnectionEnd, PreparedResponse, Reaction, ReactionKind};
use super::wire::{Tap, Wire};

/// Window of the connection and of a stream: tests are not about flow control.
const WINDOW: u32 = 4 << 20;

/// The end of a stream, as its connection must carry it out.
enum StreamEnd {
    GoAway { last: u32, reason: Reason, close: bool },
    Close,
    Reset,
}

/// Serves streams until the client leaves or a reaction ends the connection.
pub(super) async fn serve(
    wire: Wire,
    log: Arc<RequestLog>,
    opened: &OpenConnection<'_>,
) -> Result<(), h2::Error> {
    let mut tap = Tap::new(wire);
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let mut connection = builder.handshake::<_, Bytes>(tap.clone()).await?;
    let (orders, mut ordered) = unbounded_channel();
    let mut streams = JoinSet::new();
    loop {
        // In this order: whoever gets to the orders has no frame of its own left to flush.
        tokio::select! {
            biased;
            request = connection.accept() => match request {
                Some(Ok((request, reply))) => {
                    let stream = Http2Stream {
                        log: Arc::clone(&log),
                        connection: opened.connection,
                        orders: orders.clone(),
                        reply,
                    };
                    streams.spawn(stream.serve(request));
                }
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
            Some(order) = ordered.recv() => match order {
                StreamEnd::GoAway { last, reason, close } => {
                    let sent = tap.go_away(last, reason).await;
                    if close || sent.is_err() {
                        return Ok(());
                    }
                }
                StreamEnd::Close => return Ok(()),
                StreamEnd::Reset => {
                    tap.reset();
                    return Ok(());
                }
            },
            Some(_) = streams.join_next() => {}
        }
    }
}

struct Http2Stream {
    log: Arc<RequestLog>,
    connection: usize,
    orders: UnboundedSender<StreamEnd>,
    reply: SendResponse<Bytes>,
}

impl Http2Stream {
    async fn serve(mut self, request: Request<RecvStream>) {
        let (mut partial, mut body) = partial(request);
        let complete = read(&mut body, &mut partial).await.is_ok();
        let is_head = partial.method == Method::HEAD;
        let Reaction(kind) = self.log.react(self.connection, partial, complete);
        match kind {
            ReactionKind::Answer(answer) => _ = self.answer(&answer, is_head).await,
            ReactionKind::Silent(ending) => self.end(ending).await,
            ReactionKind::ResetUnread => self.end(ConnectionEnd::Reset).await,
            ReactionKind::GoAway { reason, covers, close } => {
                let id = self.reply.stream_id().as_u32();
                // Ids of a client are odd; the one before this is two below (RFC 9113, 5.1.1).
                let last = if covers { id } else { id.saturating_sub(2) };
                self.order(StreamEnd::GoAway { last, reason, close });
                self.end(ConnectionEnd::Hang).await;
            }
        }
    }

    async fn answer(mut self, answer: &PreparedResponse, is_head: bool) -> Result<(), h2::Error> {
        let mut head = Response::new(());
        *head.status_mut() = answer.status;
        head.headers_mut().clone_from(&answer.headers);
        if !answer.chunked {
            let length = HeaderValue::from(answer.body.len());
            head.headers_mut().entry(CONTENT_LENGTH).or_insert(length);
        }
        let whole = answer.is_whole();
        let part = if is_head { Bytes::new() } else { answer.part() };
        let last = part.is_empty() && answer.trailers.is_none() && whole;
        let mut stream = self.reply.send_response(head, last)?;
        if !last {
            send(&mut stream, answer, part).await?;
        }
        match answer.ending {
            ConnectionEnd::KeepAlive => {}
            ConnectionEnd::ResetStream(reason) => stream.send_reset(reason),
            ending => {
                self.tell(ending);
                // The reply's own handle no longer hears of resets once the head is sent.
                _ = poll_fn(|context| stream.poll_reset(context)).await;
            }
        }
        Ok(())
    }

    async fn end(&mut self, ending: ConnectionEnd) {
        match ending {
            ConnectionEnd::KeepAlive => {}
            ConnectionEnd::ResetStream(reason) => self.reply.send_reset(reason),
            ending => {
                self.tell(ending);
                // Held until the connection is gone: a stream that is dropped would be reset.
                _ = poll_fn(|context| self.reply.poll_reset(context)).await;
            }
        }
    }

    fn tell(&self, ending: ConnectionEnd) {
        match ending {
            ConnectionEnd::Close => self.order(StreamEnd::Close),
            ConnectionEnd::Reset => self.order(StreamEnd::Reset),
            ConnectionEnd::KeepAlive | ConnectionEnd::Hang | ConnectionEnd::ResetStream(_) => {}
        }
    }

    /// Nobody to tell: the connection is gone, and so will this stream be.
    fn order(&self, order: StreamEnd) {
        _ = self.orders.send(order);
    }
}

async fn send(
    stream: &mut SendStream<Bytes>,
    answer: &PreparedResponse,
    part: Bytes,
) -> Result<(), h2::Error> {
    let last = answer.is_whole() && answer.trailers.is_none();
    match answer.drip {
        Some(every) => drip(stream, &part, every, last).await?,
        None => stream.send_data(part, last)?,
    }
    match &answer.trailers {
        Some(trailers) if answer.is_whole() => stream.send_trailers(trailers.clone()),
        _ => Ok(()),
    }
}

async fn drip(
    stream: &mut SendStream<Bytes>,
    part: &Bytes,
    every: Duration,
    last: bool,
) -> Result<(), h2::Error> {
    let mut beat = (!every.is_zero()).then(|| interval(every));
    if let Some(beat) = &mut beat {
        // The first beat of an interval comes at once.
        beat.tick().await;
    }
    for at in 0..part.len() {
        match &mut beat {
            Some(beat) => _ = beat.tick().await,
            None => tokio::task::yield_now().await,
        }
        stream.send_data(part.slice(at..=at), last && at + 1 == part.len())?;
    }
    Ok(())
}

fn partial(request: Request<RecvStream>) -> (PartialRequest, RecvStream) {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let (method, headers) = (head.method, head.headers);
    let partial = PartialRequest {
        version: Version::HTTP_2,
        method,
        path,
        headers,
        body: Vec::new(),
        body_len: 0,
    };
    (partial, body)
}

async fn read(body: &mut RecvStream, partial: &mut PartialRequest) -> Result<(), h2::Error> {
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        partial.keep(&bytes);
        body.flow_control().release_capacity(bytes.len())?;
    }
    body.trailers().await.map(drop)
}
