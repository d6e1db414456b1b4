//! Statuses in headers and trailers, and what the caller gets.

use std::error::Error as StdError;

use bytes::Bytes;
use stagger::breaker::BreakerPlan;
use stagger::tonic::CallError;
use stagger::{CallReport, Span, Stop, Verdict};
use tonic::{Code, Status};

use crate::Done;
use crate::client::{hello, quick, repeatable, retrier, streaming, unary};
use crate::server::{Reply, Scripted};

fn away() -> Reply {
    Reply::Status(Status::unavailable("away"))
}

fn end(status: &Status) -> Option<(Option<Stop>, u32)> {
    CallError::of(status).map(|end| (end.report().stop(), end.report().attempts()))
}

#[tokio::test]
async fn a_call_that_a_retry_would_have_saved_failed() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 | 1 => away(),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let response = unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await?;
    let report = response.extensions().get::<CallReport>().ok_or("no report")?;
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::Succeeded), 3));
    let verdicts: Vec<_> = report.history().iter().map(|attempt| attempt.verdict).collect();
    assert_eq!(verdicts, [Verdict::Transient, Verdict::Transient, Verdict::Ok]);
    assert_eq!(response.into_inner(), "done");
    let seen = server.seen();
    assert!(seen.iter().all(|request| request.body == seen[0].body && request.body.len() == 10));
    Ok(())
}

#[tokio::test]
async fn the_last_status_was_replaced_by_one_of_our_own() -> Done {
    let server = Scripted::start(|seen| {
        let details = Bytes::from(format!("details {}", seen.call));
        let mut metadata = tonic::metadata::MetadataMap::new();
        metadata.insert("shard", tonic::metadata::MetadataValue::from_static("7"));
        let message = format!("away, call {}", seen.call);
        let (code, details) = (Code::Unavailable, details);
        Reply::Status(Status::with_details_and_metadata(code, message, details, metadata))
    });
    let server = server.await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "away, call 2"));
    assert_eq!(failed.details(), b"details 2");
    assert_eq!(failed.metadata().get("shard").map(|shard| shard.as_bytes()), Some(&b"7"[..]));
    assert_eq!(end(&failed), Some((Some(Stop::AttemptsExhausted), 3)));
    Ok(())
}

#[tokio::test]
async fn a_permanent_status_was_asked_for_twice() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::not_found("no such order"))).await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::NotFound, 1));
    assert_eq!(end(&failed), Some((Some(Stop::Permanent), 1)));
    Ok(())
}

#[tokio::test]
async fn a_call_that_the_server_cancelled_was_repeated() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::cancelled("given up"))).await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Cancelled, 1));
    assert_eq!(end(&failed), Some((Some(Stop::Cancelled), 1)));
    Ok(())
}

#[tokio::test]
async fn a_message_that_the_caller_had_was_sent_again() -> Done {
    for late in [Reply::Late, Reply::Broken] {
        let server = Scripted::start(move |_| late(Status::unavailable("half way"))).await?;
        let service = repeatable(server.channel(), retrier(quick()?)?);
        let failed = unary(service, hello()).await.unwrap_err();
        assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "half way"));
        assert_eq!(server.calls(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn the_part_of_a_stream_before_its_failure_was_lost() -> Done {
    let server = Scripted::start(|_| Reply::Broken(Status::unavailable("half way"))).await?;
    let service = repeatable(server.channel(), retrier(quick()?)?);
    let mut stream = streaming(service, hello()).await?.into_inner();
    assert_eq!(stream.message().await?, Some(Bytes::from_static(b"half")));
    assert_eq!(stream.message().await.unwrap_err().message(), "half way");
    assert_eq!(server.calls(), 1);
    Ok(())
}

#[tokio::test]
async fn a_proxy_without_grpc_ended_the_call() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Http(503, &[("retry-after", "0")]),
        1 => Reply::Http(502, &[]),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let response = unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await?;
    assert_eq!((response.into_inner().as_ref(), server.calls()), (&b"done"[..], 3));

    let server = Scripted::start(|_| Reply::Http(404, &[])).await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Unimplemented, 1));
    Ok(())
}

#[tokio::test]
async fn a_method_that_must_not_run_twice_did() -> Done {
    use stagger::tonic::GrpcLayer;
    use tower::Layer;
    let server = Scripted::start(|_| away()).await?;
    let layer = GrpcLayer::new(retrier(quick()?)?)
        .idempotent(|uri: &http::Uri| !uri.path().ends_with("/Get"));
    let failed = unary(layer.layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Unavailable, 1));
    assert_eq!(end(&failed), Some((Some(Stop::NotIdempotent), 1)));
    Ok(())
}

#[tokio::test]
async fn a_method_of_which_nothing_is_known_ran_twice() -> Done {
    use stagger::tonic::Grpc;
    for reply in [away, || Reply::Never] {
        let server = Scripted::start(move |_| reply()).await?;
        let policy = quick()?.attempt_timeout(Span::from_millis(50));
        let service = Grpc::new(server.channel(), retrier(policy)?);
        let failed = unary(service, hello()).await.unwrap_err();
        assert_eq!(server.calls(), 1, "without a service config: {failed}");
        assert_eq!(end(&failed), Some((Some(Stop::NotIdempotent), 1)));
    }
    Ok(())
}

// resilience4j/resilience4j #920
#[tokio::test]
async fn an_open_breaker_was_retried_against() -> Done {
    let server = Scripted::start(|_| away()).await?;
    let breaker = BreakerPlan::builder().consecutive(2).build()?;
    let retrier = retrier(quick()?.max_attempts(2).breaker(breaker))?;
    let service = repeatable(server.channel(), retrier);
    unary(service.clone(), hello()).await.unwrap_err();
    let failed = unary(service.clone(), hello()).await.unwrap_err();
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "the breaker is open"));
    assert_eq!(end(&failed), Some((Some(Stop::BreakerOpen), 0)));
    assert_eq!(server.calls(), 2);
    let status = failed.source().and_then(StdError::source);
    assert!(status.is_some_and(|status| status.is::<Status>()));
    Ok(())
}

// HKUDS/nanobot #2760
#[tokio::test]
async fn layers_multiplied() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::resource_exhausted("busy"))).await?;
    let inner = repeatable(server.channel(), retrier(quick()?.max_attempts(3))?);
    let outer = retrier(quick()?.max_attempts(4))?;
    let worth = |status: &Status| status.code() == Code::ResourceExhausted;
    let failed = outer.retry(|| unary(inner.clone(), hello())).when(worth).await.unwrap_err();
    assert_eq!((failed.attempts(), server.calls()), (4, 4));

    let outer = repeatable(inner, outer);
    let failed = unary(outer, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::ResourceExhausted, 8));
    Ok(())
}

#[tokio::test]
async fn the_time_that_the_server_asked_for_was_not_told() -> Done {
    let mut busy = Status::resource_exhausted("busy");
    busy.metadata_mut().insert("retry-after", tonic::metadata::MetadataValue::from_static("90"));
    let server = Scripted::start(move |_| Reply::Status(busy.clone())).await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    let report = CallError::of(&failed).ok_or("no end")?.report();
    assert_eq!(report.stop(), Some(Stop::HintTooLong));
    assert_eq!((report.hint(), server.calls()), (Some(Span::from_secs(90)), 1));
    Ok(())
}
