//! Failures below gRPC: refused streams, GOAWAY, connections that break or never come to be.

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use serde_json::json;
use stagger::tonic::CallError;
use stagger::{CallReport, Span, Stop, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::Done;
use crate::client::{configured, hello, quick, repeatable, retrier, retrying, unary};

/// The fault of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFault {
    Done,
    Reset(Reason),
    /// The connection breaks with the stream on it.
    Broken,
}

/// A server of bare HTTP/2.
pub(crate) struct Faulty {
    endpoint: Endpoint,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Faulty {
    /// The stream number n, over all connections, has the n-th fault, and those after the last are
    /// done.
    pub(crate) async fn start(
        faults: &'static [StreamFault],
    ) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        Self::going_away(&[], faults).await
    }

    /// The same, but the first connections say these GOAWAYs once they have a stream.
    async fn going_away(
        away: &'static [GoAway],
        faults: &'static [StreamFault],
    ) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr()?))?;
        let seen = Arc::<Mutex<_>>::default();
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            for away in away {
                let Ok((socket, _)) = listener.accept().await else { return };
                tokio::spawn(go_away(socket, *away));
            }
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, faults, Arc::clone(&noted)));
            }
        });
        Ok(Self { endpoint, seen })
    }

    pub(crate) fn channel(&self) -> Channel {
        self.endpoint.connect_lazy()
    }

    fn seen(&self) -> Vec<HeaderMap> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(socket: TcpStream, faults: &[StreamFault], seen: Arc<Mutex<Vec<HeaderMap>>>) {
    let Ok(mut connection) = Builder::new().handshake::<_, Bytes>(socket).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let stream = {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(request.headers().clone());
            seen.len() - 1
        };
        match faults.get(stream).copied().unwrap_or(StreamFault::Done) {
            StreamFault::Done => answer(request, respond),
            StreamFault::Reset(reason) => respond.send_reset(reason),
            StreamFault::Broken => return,
        }
    }
}

/// The last stream that the server may have acted on, and its reason.
#[derive(Clone, Copy, Debug)]
struct GoAway(u8, Reason);

/// Waits for the headers of a stream, and then goes away.
async fn go_away(mut socket: TcpStream, GoAway(last, reason): GoAway) -> std::io::Result<()> {
    const PREFACE: usize = 24;
    const HEADERS: u8 = 1;
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const SETTINGS_ACK: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
    socket.read_exact(&mut [0; PREFACE]).await?;
    socket.write_all(&SETTINGS).await?;
    socket.write_all(&SETTINGS_ACK).await?;
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await?;
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        socket.read_exact(&mut vec![0; length]).await?;
        if head[3] == HEADERS {
            let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last];
            frame.extend_from_slice(&u32::from(reason).to_be_bytes());
            socket.write_all(&frame).await?;
            socket.shutdown().await?;
            // Until the client hangs up: a reset would be another fault.
            let mut rest = Vec::new();
            return socket.read_to_end(&mut rest).await.map(|_| ());
        }
    }
}

/// An answer needs the connection to be polled meanwhile, so it does not wait for the request's end.
fn answer(_request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let headers = Response::builder().header("content-type", "application/grpc");
    let Ok(response) = headers.body(()) else { return };
    let Ok(mut body) = respond.send_response(response, false) else { return };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let sent = body.send_data(Bytes::from_static(b"\0\0\0\0\x04done"), false);
    let _ = sent.and_then(|()| body.send_trailers(trailers));
}

/// One attempt by the policy, and nothing that may be repeated.
fn once(server: &Faulty) -> Result<crate::client::Configured, Box<dyn StdError + Send + Sync>> {
    configured(server.channel(), ("waitForReady", &json!(true)), &json!(null))
}

// grpc/grpc-java #8394
#[tokio::test]
async fn a_refused_stream_was_reported_as_unavailable() -> Done {
    let server = Faulty::start(&[StreamFault::Reset(Reason::REFUSED_STREAM)]).await?;
    let response = unary(once(&server)?, hello()).await?;
    let report = response.extensions().get::<CallReport>().ok_or("no report")?;
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::Succeeded), 1));
    assert_eq!(report.history().iter().next().map(|a| a.verdict), Some(Verdict::Unprocessed));
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|headers| !headers.contains_key("grpc-previous-rpc-attempts")));
    Ok(())
}

// grpc/grpc-java #8394
#[tokio::test]
async fn a_stream_above_the_last_of_a_goaway_was_reported_as_unavailable() -> Done {
    for away in [&[GoAway(0, Reason::NO_ERROR)], &[GoAway(0, Reason::ENHANCE_YOUR_CALM)]] {
        let server = Faulty::going_away(away, &[]).await?;
        let response = unary(once(&server)?, hello()).await?;
        assert_eq!(response.extensions().get::<CallReport>().map(CallReport::attempts), Some(1));
        assert_eq!((response.into_inner().as_ref(), server.seen().len()), (&b"done"[..], 1));
    }
    Ok(())
}

// grpc/grpc-java #8394
#[tokio::test]
async fn a_stream_that_a_goaway_includes_was_taken_for_unprocessed() -> Done {
    for away in [&[GoAway(1, Reason::NO_ERROR)], &[GoAway(1, Reason::INTERNAL_ERROR)]] {
        let server = Faulty::going_away(away, &[]).await?;
        let failed = unary(once(&server)?, hello()).await.unwrap_err();
        assert_eq!((failed.code(), server.seen().len()), (Code::Unavailable, 0), "{away:?}");
        let end = CallError::of(&failed).ok_or("no end")?;
        assert!(end.report().history().iter().all(|a| a.verdict == Verdict::Permanent));
    }
    Ok(())
}

// grpc/proposal A6: once at once, then by the policy
#[tokio::test]
async fn a_server_that_refuses_for_ever_was_asked_for_ever() -> Done {
    const REFUSED: StreamFault = StreamFault::Reset(Reason::REFUSED_STREAM);
    let server = Faulty::start(&[REFUSED; 50]).await?;
    let failed = unary(once(&server)?, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.seen().len()), (Code::Unavailable, 2));

    let server = Faulty::start(&[REFUSED; 50]).await?;
    let rule = retrying(3, &["UNAVAILABLE"]);
    let service = configured(server.channel(), ("retryPolicy", &rule), &json!(null))?;
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.seen().len()), (Code::Unavailable, 4));
    let end = CallError::of(&failed).map(|end| (end.report().stop(), end.report().attempts()));
    assert_eq!(end, Some((Some(Stop::AttemptsExhausted), 3)));
    Ok(())
}

#[tokio::test]
async fn a_refused_stream_counted_against_the_throttle() -> Done {
    let server = Faulty::start(&[StreamFault::Reset(Reason::REFUSED_STREAM)]).await?;
    let throttling = json!({ "maxTokens": 10, "tokenRatio": 0.1 });
    let rule = retrying(3, &["UNAVAILABLE"]);
    let service = configured(server.channel(), ("retryPolicy", &rule), &throttling)?;
    unary(service.clone(), hello()).await?;
    let stats = service.retrier().ledger().stats(stagger::Clock::now(&stagger::StdTime));
    assert_eq!(stats.level.retries, 5, "still full");
    Ok(())
}

#[tokio::test]
async fn a_broken_connection_was_no_reason_to_try_again() -> Done {
    let server = Faulty::start(&[StreamFault::Broken]).await?;
    let service = repeatable(server.channel(), retrier(quick()?)?);
    assert_eq!(unary(service, hello()).await?.into_inner(), "done");
    assert_eq!(server.seen().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_broken_connection_repeated_a_method_that_must_not_run_twice() -> Done {
    let server = Faulty::start(&[StreamFault::Broken]).await?;
    let failed = unary(once(&server)?, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.seen().len()), (Code::Unavailable, 1));
    let status = CallError::of(&failed).map(CallError::status);
    let cause = status.and_then(StdError::source);
    assert!(cause.is_some_and(|cause| cause.is::<tonic::transport::Error>()), "{cause:?}");
    Ok(())
}

#[tokio::test]
async fn an_order_was_booked_twice_without_a_service_config() -> Done {
    use stagger::tonic::Grpc;
    let server = Faulty::start(&[StreamFault::Broken, StreamFault::Broken]).await?;
    let service = Grpc::new(server.channel(), retrier(quick()?)?);
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.seen().len()), (Code::Unavailable, 1));

    let server = Faulty::start(&[StreamFault::Reset(Reason::REFUSED_STREAM)]).await?;
    let service = Grpc::new(server.channel(), retrier(quick()?)?);
    assert_eq!(unary(service, hello()).await?.into_inner(), "done");
    assert_eq!(server.seen().len(), 2, "the server refused the first before acting on it");
    Ok(())
}

#[tokio::test]
async fn a_reset_was_taken_for_another() -> Done {
    for (reason, code, streams) in [
        (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted, 3),
        (Reason::INTERNAL_ERROR, Code::Internal, 1),
        (Reason::CANCEL, Code::Cancelled, 1),
    ] {
        let faults = vec![StreamFault::Reset(reason); 9];
        let server = Faulty::start(faults.leak()).await?;
        let service = repeatable(server.channel(), retrier(quick()?)?);
        let failed = unary(service, hello()).await.unwrap_err();
        assert_eq!((failed.code(), server.seen().len()), (code, streams), "{reason:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_was_not_up_yet_ended_the_call() -> Done {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(listener);
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
    let service = repeatable(channel, retrier(quick()?.deadline(Span::from_secs(20)))?);
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable);
    let report = CallError::of(&failed).ok_or("no end")?.report();
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::AttemptsExhausted), 3));
    assert!(report.history().iter().all(|attempt| attempt.verdict == Verdict::Unprocessed));
    Ok(())
}
