//! Reply bodies through the tower layer, in paused time.
#![cfg(all(feature = "http", feature = "tokio", feature = "tower"))]

use std::convert::Infallible;
use std::error::Error as StdError;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty};
use stagger::http::{CallerDeadline, DeadlineBody, Replay};
use stagger::tower::{ServiceError, StaggerLayer};
use stagger::{Clock, Policy, PolicyBuilder, Retrier, Sleep, Span, TokioTime};
use tower::{Layer, ServiceExt, service_fn};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// A body whose first piece is there at once, and whose second comes after `delay`, if ever.
struct Slow {
    pieces: u32,
    timer: Pin<Box<<TokioTime as Sleep>::Timer>>,
    /// The body holds its connection as long as it lives.
    _connection: Arc<()>,
}

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces > 0 && self.timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.pieces += 1;
        let piece = (self.pieces <= 2).then(|| Ok(Frame::data(Bytes::from_static(b"half "))));
        Poll::Ready(piece)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(10)
    }
}

type Reply = Response<DeadlineBody<Slow, TokioTime>>;

/// A reply whose head comes after 1 s, with the whole body `delay` later; and its connection.
async fn reply(
    policy: PolicyBuilder,
    (status, delay): (u16, Span),
) -> Result<(Result<Reply, ServiceError>, Arc<()>), Box<dyn StdError + Send + Sync>> {
    reply_within(policy, (status, delay), None).await
}

/// The same for a caller that waits no longer than `asked`.
async fn reply_within(
    policy: PolicyBuilder,
    (status, delay): (u16, Span),
    asked: Option<Span>,
) -> Result<(Result<Reply, ServiceError>, Arc<()>), Box<dyn StdError + Send + Sync>> {
    let connection = Arc::new(());
    let held = Arc::clone(&connection);
    let server = service_fn(move |_: Request<Replay<Empty<Bytes>>>| {
        let held = Arc::clone(&held);
        async move {
            TokioTime.sleep(Span::from_secs(1)).await;
            let timer = Box::pin(TokioTime.sleep(delay));
            let body = Slow { pieces: 0, timer, _connection: held };
            Ok::<_, Infallible>(Response::builder().status(status).body(body).expect("constants"))
        }
    });
    let layer = StaggerLayer::http(Retrier::new(policy.build()?, TokioTime));
    let mut request = Request::get("/").body(Empty::new())?;
    if let Some(asked) = asked {
        request.extensions_mut().insert(CallerDeadline(asked));
    }
    let reply = layer.layer(server).oneshot(request).await;
    Ok((reply, connection))
}

fn three_seconds() -> PolicyBuilder {
    Policy::builder().deadline(Span::from_secs(3)).max_attempts(1)
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalled_outlived_the_deadline_of_its_call() -> Done {
    for status in [200, 503] {
        let begun = TokioTime.now();
        let (reply, connection) = reply(three_seconds(), (status, Span::from_secs(3_600))).await?;
        let reply = reply?;
        assert_eq!(reply.status(), status);
        let mut body = pin!(reply.into_body());
        assert_eq!(body.size_hint().exact(), Some(10));
        let first = body.frame().await.ok_or("the first piece")??;
        assert_eq!(first.into_data().ok().as_deref(), Some(&b"half "[..]));
        let late = body.frame().await.ok_or("an error")?.map_err(|error| {
            let error = error.downcast::<io::Error>().expect("its documented type");
            error.kind()
        });
        assert_eq!(late.err(), Some(io::ErrorKind::TimedOut));
        assert_eq!(TokioTime.now() - begun, Span::from_secs(3));
        assert_eq!(Arc::strong_count(&connection), 1, "only ours is left");
        assert!(body.frame().await.is_none() && body.is_end_stream());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_arrived_in_time_is_whole_however_late_it_is_read() -> Done {
    let (reply, _) = reply(three_seconds(), (200, Span::from_secs(1))).await?;
    let reply = reply?;
    TokioTime.sleep(Span::from_secs(60)).await;
    assert_eq!(reply.into_body().collect().await?.to_bytes(), "half half ");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_one_attempt_ends_with_the_head() -> Done {
    let policy = Policy::builder().attempt_timeout(Span::from_secs(2));
    let (reply, _) = reply(policy, (200, Span::from_secs(60))).await?;
    let reply = reply?;
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(reply.into_body().collect().await?.to_bytes(), "half half ");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_less_than_the_policy_was_answered_too_late() -> Done {
    let day = Span::from_secs(86_400);
    for (asked, expected) in [(Span::from_secs(2), 2), (Span::from_secs(60), 3)] {
        let begun = TokioTime.now();
        let (reply, connection) = reply_within(three_seconds(), (200, day), Some(asked)).await?;
        let late = reply?.into_body().collect().await.expect_err("the body stalls for a day");
        assert!(
            late.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::TimedOut)
        );
        assert_eq!(TokioTime.now() - begun, Span::from_secs(expected), "the shorter one holds");
        assert_eq!(Arc::strong_count(&connection), 1, "the connection is let go");
    }
    let begun = TokioTime.now();
    let asked = Some(Span::from_millis(500));
    let (reply, _) = reply_within(Policy::builder(), (200, day), asked).await?;
    let end = reply.expect_err("the head comes after a second");
    assert_eq!(end.end().map(stagger::Error::stop), Some(stagger::Stop::DeadlineExceeded));
    assert_eq!(TokioTime.now() - begun, Span::from_millis(500));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_outlives_its_call_is_read_to_its_end() -> Done {
    let (reply, _) = reply(three_seconds(), (200, Span::from_secs(3_600))).await?;
    let body = reply?.into_body().without_deadline();
    assert_eq!(body.collect().await?.to_bytes(), "half half ");
    Ok(())
}
