//! grpc-go's and gRFC A6's own cases, driven through a channel to a server.

use std::error::Error as StdError;

use serde_json::{Value, json};
use stagger::tonic::{CallError, GrpcLayer};
use stagger::{Clock, Span, StdTime};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use tower::Layer;

use crate::Done;
use crate::client::{
    Configured, configured, hello, quick, repeatable, retrier, retrying, streaming, unary,
};
use crate::server::{Reply, Scripted};

const PUSHBACK: &str = include_str!("../../../../vectors/grpc/pushback.json");
const SEQUENCE: &str = include_str!("../../../../vectors/grpc/retry-sequence.json");
const THROTTLING: &str = include_str!("../../../../vectors/grpc/throttling-sequence.json");

fn away() -> Status {
    Status::unavailable("away")
}

#[tokio::test]
async fn pushback_cases() -> Done {
    let file: Value = serde_json::from_str(PUSHBACK)?;
    let cases = file["cases"].as_array().ok_or("no cases")?;
    for case in cases {
        let values: Vec<String> = serde_json::from_value(case["values"].clone())?;
        let mut status = away();
        for value in &values {
            let value = MetadataValue::try_from(value.as_str())?;
            status.metadata_mut().append("grpc-retry-pushback-ms", value);
        }
        let server = Scripted::start(move |_| Reply::Status(status.clone())).await?;
        let rule = retrying(2, &["UNAVAILABLE"]);
        let service = configured(server.channel(), ("retryPolicy", &rule), &json!(null))?;
        let failed = unary(service, hello()).await.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable);
        let retried = case["retry"].as_bool().ok_or("no answer")?;
        assert_eq!(server.calls(), if retried { 2 } else { 1 }, "{values:?}");
        if let Some(least) = case["min_delay_ms"].as_u64() {
            let elapsed = CallError::of(&failed).map(|end| end.report().elapsed());
            assert!(elapsed >= Some(Span::from_millis(least)), "{values:?}: {elapsed:?}");
        }
    }
    assert_eq!(cases.len(), 8);
    Ok(())
}

/// Each row of the file is one way for a call to be committed; each has a server that does it.
#[tokio::test]
async fn pushback_committed() -> Done {
    let file: Value = serde_json::from_str(PUSHBACK)?;
    let rows = file["committed"].as_array().ok_or("no rows")?;
    for row in rows {
        assert_eq!(row["retry"], false);
        let name = row["name"].as_str().ok_or("no name")?;
        let reply: fn() -> Reply = match name {
            "response headers received" => || Reply::Late(away()),
            "message received" | "application read headers or context" => || Reply::Broken(away()),
            "request larger than the retry buffer" => || Reply::Status(away()),
            other => return Err(format!("a row that nobody has read: {other}").into()),
        };
        let server = Scripted::start(move |_| reply()).await?;
        let repeatable: fn(&http::Uri) -> bool = |_| true;
        let mut layer = GrpcLayer::new(retrier(quick()?)?).idempotent(repeatable);
        if name.starts_with("request larger") {
            layer = layer.buffer(1);
        }
        let service = layer.layer(server.channel());
        let failed = if name.starts_with("application") {
            let response = streaming(service, hello()).await?;
            assert!(response.metadata().contains_key("content-type"), "the headers are read");
            let mut stream = response.into_inner();
            stream.message().await?;
            stream.message().await.unwrap_err()
        } else {
            unary(service, hello()).await.unwrap_err()
        };
        assert_eq!((failed.code(), server.calls()), (Code::Unavailable, 1), "{name}");
    }
    assert_eq!(rows.len(), 4);
    Ok(())
}

#[tokio::test]
async fn pushback_previous_attempts_header() -> Done {
    let file: Value = serde_json::from_str(PUSHBACK)?;
    let row = &file["previous_attempts_header"];
    let name = row["name"].as_str().ok_or("no name")?;
    let want: Vec<Option<String>> = serde_json::from_value(row["by_attempt"].clone())?;
    let server = Scripted::start(|_| Reply::Status(away())).await?;
    let service = repeatable(server.channel(), retrier(quick()?.max_attempts(4))?);
    unary(service, hello()).await.unwrap_err();
    let seen = server.seen();
    let got: Vec<_> = seen.iter().map(|seen| seen.header(name)).collect();
    assert_eq!(got, want.iter().map(Option::as_deref).collect::<Vec<_>>());
    Ok(())
}

/// One call of a sequence: its code, the number of its last attempt, and the tokens after it.
struct Step {
    code: i32,
    last_call: Option<u64>,
    tokens: Option<f64>,
}

fn steps(file: &Value) -> Result<Vec<Step>, Box<dyn StdError + Send + Sync>> {
    let steps = file["steps"].as_array().ok_or("no steps")?;
    let read = steps.iter().map(|step| {
        let code: stagger::classify::Code = step["code"].as_str().ok_or("no code")?.parse()?;
        let (last_call, tokens) = (step["last_call"].as_u64(), step["tokens"].as_f64());
        Ok(Step { code: code.number().into(), last_call, tokens })
    });
    read.collect()
}

async fn code(service: &Configured) -> i32 {
    unary(service.clone(), hello()).await.map_or_else(|status| status.code(), |_| Code::Ok).into()
}

fn last_call(server: &Scripted) -> Option<u64> {
    u64::try_from(server.calls()).ok()?.checked_sub(1)
}

#[tokio::test]
async fn retry_sequence() -> Done {
    let file: Value = serde_json::from_str(SEQUENCE)?;
    // The file has the answers in words only.
    let server = Scripted::start(|seen| match seen.call {
        0 | 2 | 5 => Reply::Message("done"),
        6 | 8 | 11 => Reply::Status(Status::internal("broken")),
        _ => Reply::Status(Status::already_exists("there")),
    });
    let server = server.await?;
    let rule = retrying(4, &["ALREADY_EXISTS"]);
    let service = configured(server.channel(), ("retryPolicy", &rule), &json!(null))?;
    for (n, step) in steps(&file)?.iter().enumerate() {
        let got = (code(&service).await, last_call(&server));
        assert_eq!(got, (step.code, step.last_call), "step {n}");
    }
    assert_eq!(steps(&file)?.len(), 7);
    Ok(())
}

#[tokio::test]
async fn throttling_sequence() -> Done {
    let file: Value = serde_json::from_str(THROTTLING)?;
    let ok: Vec<usize> = serde_json::from_value(file["ok_calls"].clone())?;
    let server = Scripted::start(move |seen| match ok.contains(&seen.call) {
        true => Reply::Message("done"),
        false => Reply::Status(away()),
    });
    let server = server.await?;
    let mut rule = retrying(4, &[]);
    for field in ["maxAttempts", "retryableStatusCodes"] {
        rule[field] = file["policy"][field].clone();
    }
    let service = configured(server.channel(), ("retryPolicy", &rule), &file["retryThrottling"])?;
    for (n, step) in steps(&file)?.iter().enumerate() {
        let got = (code(&service).await, last_call(&server));
        assert_eq!(got, (step.code, step.last_call), "step {n}");
        // Above half of the ten tokens, every whole or begun one is a retry.
        let stats = service.retrier().ledger().stats(StdTime.now());
        let above = step.tokens.map(|tokens| (tokens - 5.0).max(0.0).ceil().to_string());
        assert_eq!(Some(stats.level.retries.to_string()), above, "step {n}");
    }
    assert_eq!(steps(&file)?.len(), 12);
    Ok(())
}

#[tokio::test]
async fn two_methods_had_a_throttle_each() -> Done {
    let server = Scripted::start(|_| Reply::Status(away())).await?;
    let rule = retrying(5, &["UNAVAILABLE"]);
    let throttling = json!({ "maxTokens": 4, "tokenRatio": 0.1 });
    let config = json!({
        "methodConfig": [
            { "name": [{ "service": "store.Orders", "method": "Get" }], "retryPolicy": rule },
            { "name": [{ "service": "store.Orders" }], "retryPolicy": rule },
        ],
        "retryThrottling": throttling,
    });
    let layer = GrpcLayer::new(retrier(quick()?)?).service_config(serde_json::from_value(config)?);
    unary(layer.layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!(server.calls(), 2, "4 tokens, 3, and 2 is half");
    let path = http::uri::PathAndQuery::from_static("/store.Orders/Put");
    let mut client = tonic::client::Grpc::new(layer.layer(server.channel()));
    client.ready().await?;
    let other = client.unary(hello(), path, crate::client::Text).await;
    assert_eq!((other.map(|_| ()).unwrap_err().code(), server.calls()), (Code::Unavailable, 3));
    Ok(())
}
