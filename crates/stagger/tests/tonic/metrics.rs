//! gRPC's own figures of retries (gRFC A96), as a recorder receives them.

use std::future::Future;

use h2::Reason;
use serde_json::json;
use stagger::tonic::Grpc;
use tonic::{GrpcMethod, Status};

use crate::Done;
use crate::client::{configured, hello, quick, retrier, retrying, unary};
use crate::faults::{Faulty, StreamFault};
use crate::server::{Reply, Scripted};
use crate::support::Figures;

/// The figures of gRPC that `work` records.
fn grpc_figures(work: impl Future<Output = Done>) -> Result<Vec<String>, std::io::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let heard = Figures::hear(|| runtime.block_on(work).expect("the calls of a test"));
    Ok(heard.into_iter().filter(|line| line.starts_with("grpc.")).collect())
}

/// A call as a generated client makes it.
fn generated() -> tonic::Request<bytes::Bytes> {
    let mut request = hello();
    request.extensions_mut().insert(GrpcMethod::new("store.Orders", "Get"));
    request
}

/// Two failures, and then a message.
async fn healing() -> Result<Scripted, Box<dyn std::error::Error + Send + Sync>> {
    Scripted::start(|seen| match seen.call {
        0 | 1 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    })
    .await
}

#[test]
fn a_dashboard_of_grpc_had_no_retries_of_ours() -> Done {
    let heard = grpc_figures(async {
        let rule = retrying(3, &["UNAVAILABLE"]);
        let server = healing().await?;
        let service = configured(server.channel(), ("retryPolicy", &rule), &json!(null))?;
        unary(service.clone(), generated()).await?;
        unary(service, generated()).await?; // a clean first try
        Ok(())
    })?;
    let labels = "{grpc.method=store.Orders/Get,grpc.target=other}";
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0], format!("grpc.client.call.retries{labels} <- 2"));
    let delay = heard[1].strip_prefix(&format!("grpc.client.call.retry_delay{labels} <- "));
    let delay: f64 = delay.ok_or("no delay")?.parse()?;
    assert!((0.0016..=0.0024).contains(&delay), "two of 1 ms, each up or down by a fifth: {delay}");
    Ok(())
}

#[test]
fn a_path_that_a_caller_made_up_was_a_label() -> Done {
    let heard = grpc_figures(async {
        let server = healing().await?;
        let retrier = retrier(quick()?)?.named("orders");
        let service = Grpc::new(server.channel(), retrier).idempotent(|_: &http::Uri| true);
        unary(service, hello()).await?;
        Ok(())
    })?;
    let expected = "grpc.client.call.retries{grpc.method=other,grpc.target=orders} <- 2";
    assert_eq!(heard.first().map(String::as_str), Some(expected));
    Ok(())
}

#[test]
fn a_copy_and_a_transparent_retry_were_counted_as_retries() -> Done {
    let heard = grpc_figures(async {
        let server = Scripted::start(|seen| match seen.call {
            0 => Reply::Never,
            _ => Reply::Message("done"),
        });
        let server = server.await?;
        let rule = json!({ "maxAttempts": 2, "hedgingDelay": "0.02s" });
        let service = configured(server.channel(), ("hedgingPolicy", &rule), &json!(null))?;
        unary(service, generated()).await?;
        let server = Faulty::start(&[StreamFault::Reset(Reason::REFUSED_STREAM)]).await?;
        unary(Grpc::new(server.channel(), retrier(quick()?)?), generated()).await?;
        Ok(())
    })?;
    let line = |name| {
        format!("grpc.client.call.{name}{{grpc.method=store.Orders/Get,grpc.target=other}} <- 1")
    };
    assert_eq!(heard, [line("hedges"), line("transparent_retries")]);
    Ok(())
}
