//! Deadlines, time limits, and what the server is told of them.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use stagger::tonic::CallError;
use stagger::{Backoff, Jitter, Span, Stop};
use tonic::{Code, Status};

use crate::Done;
use crate::client::{configured, hello, quick, repeatable, retrier, retrying, streaming, unary};
use crate::server::{Reply, Scripted};

fn end(status: &Status) -> Option<(Option<Stop>, u32)> {
    CallError::of(status).map(|end| (end.report().stop(), end.report().attempts()))
}

fn told(text: Option<&str>) -> Option<Duration> {
    let micros: u64 = text?.strip_suffix('u')?.parse().ok()?;
    Some(Duration::from_micros(micros))
}

#[tokio::test]
async fn the_server_worked_for_a_caller_that_had_gone() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 | 1 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let policy = quick()?.deadline(Span::from_secs(30));
    unary(repeatable(server.channel(), retrier(policy)?), hello()).await?;
    let left: Option<Vec<_>> =
        server.seen().iter().map(|seen| told(seen.header("grpc-timeout"))).collect();
    let left = left.ok_or("an attempt was not told")?;
    assert!(left[0] <= Duration::from_secs(30) && left[0] > Duration::from_secs(20), "{left:?}");
    assert!(left[2] < left[1] && left[1] < left[0], "what is left shrinks: {left:?}");
    Ok(())
}

#[tokio::test]
async fn the_callers_own_time_was_forgotten_on_the_way() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let policy = quick()?.deadline(Span::from_secs(30));
    let mut request = hello();
    request.set_timeout(Duration::from_secs(10));
    unary(repeatable(server.channel(), retrier(policy)?), request).await?;
    for seen in server.seen() {
        assert!(
            told(seen.header("grpc-timeout")).is_some_and(|left| left <= Duration::from_secs(10))
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_callers_own_time_was_given_to_every_attempt_anew() -> Done {
    let server = Scripted::start(|_| Reply::Never).await?;
    let service = repeatable(server.channel(), retrier(quick()?)?);
    let mut request = hello();
    request.set_timeout(Duration::from_millis(50));
    let failed = unary(service, request).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::DeadlineExceeded, 1));
    assert_eq!(end(&failed), Some((Some(Stop::DeadlineExceeded), 1)));
    Ok(())
}

// PostHog/terraform-provider-posthog PR 157
#[tokio::test]
async fn one_attempt_that_hung_used_up_the_call() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Never,
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let policy = quick()?.deadline(Span::from_secs(60)).attempt_timeout(Span::from_millis(50));
    let response = unary(repeatable(server.channel(), retrier(policy)?), hello()).await?;
    assert_eq!((response.into_inner().as_ref(), server.calls()), (&b"done"[..], 2));
    Ok(())
}

#[tokio::test]
async fn a_call_whose_time_ran_out_told_of_an_older_failure() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Never,
    });
    let server = server.await?;
    let policy = quick()?.deadline(Span::from_millis(100));
    let failed = unary(repeatable(server.channel(), retrier(policy)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::DeadlineExceeded, 2));
    assert_eq!(end(&failed), Some((Some(Stop::DeadlineExceeded), 2)));
    Ok(())
}

// ihrwein/backoff #42
#[tokio::test]
async fn the_last_sleep_led_to_no_attempt() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::unavailable("away"))).await?;
    let hour = Backoff::constant(Span::from_secs(3_600)).with_jitter(Jitter::None)?;
    let policy = quick()?.backoff(hour).deadline(Span::from_secs(60));
    let failed = unary(repeatable(server.channel(), retrier(policy)?), hello()).await.unwrap_err();
    let elapsed = CallError::of(&failed).map(|end| end.report().elapsed());
    assert!(elapsed.is_some_and(|elapsed| elapsed < Span::from_secs(30)), "{elapsed:?}");
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "away"));
    assert_eq!(end(&failed), Some((Some(Stop::DeadlineExceeded), 1)));
    Ok(())
}

// oracle/oci-go-sdk #133
#[tokio::test]
async fn a_wait_went_on_after_its_caller_had_left() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::unavailable("away"))).await?;
    let hour = Backoff::constant(Span::from_secs(3_600)).with_jitter(Jitter::None)?;
    let retrier = retrier(quick()?.backoff(hour))?;
    let service = repeatable(server.channel(), retrier);
    {
        let mut call = pin!(unary(service, hello()));
        while server.calls() == 0 {
            let waited = tokio::time::timeout(Duration::from_millis(5), call.as_mut()).await;
            assert!(waited.is_err(), "the call waits for an hour");
        }
    }
    assert_eq!(server.calls(), 1);
    Ok(())
}

#[tokio::test]
async fn a_stream_without_an_end_outlived_its_deadline() -> Done {
    let server = Scripted::start(|_| Reply::Endless).await?;
    let policy = quick()?.deadline(Span::from_millis(100)).attempt_timeout(Span::from_millis(90));
    let service = repeatable(server.channel(), retrier(policy)?);
    let mut stream = streaming(service, hello()).await?.into_inner();
    assert_eq!(stream.message().await?, Some(Bytes::from_static(b"half")));
    assert_eq!(stream.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    Ok(())
}

#[tokio::test]
async fn a_methods_timeout_was_not_the_calls_deadline() -> Done {
    use stagger::service_config::ServiceConfig;
    use stagger::tonic::GrpcLayer;
    use tower::Layer;
    let server = Scripted::start(|_| Reply::Never).await?;
    let config: ServiceConfig = serde_json::from_value(json!({ "methodConfig": [
        { "name": [{}], "timeout": "0.05s", "retryPolicy": retrying(5, &["UNAVAILABLE"]) }
    ] }))?;
    let layer = GrpcLayer::new(retrier(quick()?)?).service_config(config);
    let failed = unary(layer.layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::DeadlineExceeded, 1));
    Ok(())
}

#[tokio::test]
async fn a_method_without_an_entry_was_retried() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::unavailable("away"))).await?;
    let rule = ("waitForReady", &json!(true));
    let service = configured(server.channel(), rule, &json!(null))?;
    unary(service, hello()).await.unwrap_err();
    assert_eq!(server.calls(), 1);
    Ok(())
}
