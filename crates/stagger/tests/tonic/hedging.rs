//! `hedgingPolicy`: copies of a call at the same time.

use bytes::Bytes;
use serde_json::json;
use stagger::CallReport;
use stagger::tonic::{CallError, GrpcLayer};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use tower::Layer;

use crate::Done;
use crate::client::{configured, hello, quick, retrier, unary};
use crate::server::{Reply, Scripted};

fn hedging(copies: u32, delay: &str) -> serde_json::Value {
    json!({ "maxAttempts": copies, "hedgingDelay": delay, "nonFatalStatusCodes": ["UNAVAILABLE"] })
}

#[tokio::test]
async fn a_slow_copy_held_up_the_call() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Never,
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let rule = hedging(2, "0.02s");
    let service = configured(server.channel(), ("hedgingPolicy", &rule), &json!(null))?;
    let response = unary(service, hello()).await?;
    let attempts = response.extensions().get::<CallReport>().map(CallReport::attempts);
    assert_eq!((attempts, server.calls()), (Some(2), 2));
    assert_eq!(response.into_inner(), Bytes::from_static(b"done"));
    let seen = server.seen();
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(seen[0].header("grpc-previous-rpc-attempts"), None);
    assert_eq!(seen[1].header("grpc-previous-rpc-attempts"), Some("1"));
    Ok(())
}

#[tokio::test]
async fn a_fatal_status_waited_for_the_other_copies() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Never,
        _ => Reply::Status(Status::internal("broken")),
    });
    let server = server.await?;
    let rule = hedging(3, "0.02s");
    let service = configured(server.channel(), ("hedgingPolicy", &rule), &json!(null))?;
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Internal, 2));
    Ok(())
}

#[tokio::test]
async fn a_status_that_is_not_fatal_ended_the_other_copies() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let rule = hedging(2, "0.02s");
    let service = configured(server.channel(), ("hedgingPolicy", &rule), &json!(null))?;
    assert_eq!(unary(service, hello()).await?.into_inner(), "done");
    assert_eq!(server.calls(), 2);
    Ok(())
}

#[tokio::test]
async fn a_server_that_wanted_no_more_copies_got_them() -> Done {
    let server = Scripted::start(|_| {
        let mut status = Status::unavailable("away");
        let value = MetadataValue::from_static("-1");
        status.metadata_mut().insert("grpc-retry-pushback-ms", value);
        Reply::Status(status)
    });
    let server = server.await?;
    // Far longer than a busy machine needs for the answer, which ends the call.
    let rule = hedging(4, "30s");
    let service = configured(server.channel(), ("hedgingPolicy", &rule), &json!(null))?;
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Unavailable, 1));
    assert_eq!(CallError::of(&failed).map(|end| end.report().attempts()), Some(1));
    Ok(())
}

#[tokio::test]
async fn copies_went_out_though_the_throttle_was_empty() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0..=3 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let rule = hedging(4, "0.02s");
    let throttling = json!({ "maxTokens": 4, "tokenRatio": 0.1 });
    let service = configured(server.channel(), ("hedgingPolicy", &rule), &throttling)?;
    let failed = unary(service, hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Unavailable, 2));
    Ok(())
}

#[tokio::test]
async fn a_method_that_must_not_run_twice_was_hedged() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::unavailable("away"))).await?;
    let config = json!({ "methodConfig": [{ "name": [{}], "hedgingPolicy": hedging(3, "0s") }] });
    let layer = GrpcLayer::new(retrier(quick()?)?)
        .service_config(serde_json::from_value(config)?)
        .idempotent(|_: &http::Uri| false);
    unary(layer.layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!(server.calls(), 1);
    Ok(())
}

#[tokio::test]
async fn a_copy_without_the_whole_request_ended_the_call() -> Done {
    let server = Scripted::start(|_| Reply::Message("done")).await?;
    let config = json!({ "methodConfig": [{ "name": [{}], "hedgingPolicy": hedging(3, "0s") }] });
    let layer = GrpcLayer::new(retrier(quick()?)?)
        .service_config(serde_json::from_value(config)?)
        .buffer(1);
    let response = unary(layer.layer(server.channel()), hello()).await?;
    assert_eq!(response.into_inner(), "done");
    assert_eq!(server.calls(), 1, "one copy had the request, and it had all of it");
    assert_eq!(server.seen()[0].body.len(), 10);
    Ok(())
}
