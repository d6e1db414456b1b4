//! Requests that are sent more than once: their bodies, and who may keep them.

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;
use stagger::Stop;
use stagger::tonic::{CallError, GrpcLayer};
use tonic::codegen::tokio_stream::iter;
use tonic::{Code, Request, Status};
use tower::Layer;

use crate::Done;
use crate::client::{METHOD, Text, hello, quick, repeatable, retrier, unary};
use crate::server::{Reply, Scripted};

#[tokio::test]
async fn a_request_above_the_buffer_was_cut_when_it_was_sent_again() -> Done {
    let server = Scripted::start(|_| Reply::Status(Status::unavailable("away"))).await?;
    let layer = GrpcLayer::new(retrier(quick()?)?).idempotent(|_: &Uri| true).buffer(31);
    let failed = unary(layer.layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!((failed.code(), server.calls()), (Code::Unavailable, 1));
    let stop = CallError::of(&failed).and_then(|end| end.report().stop());
    assert_eq!(stop, Some(Stop::NotReplayable));
    assert_eq!(server.seen()[0].body.len(), 10, "it went through whole all the same");

    unary(layer.buffer(32).layer(server.channel()), hello()).await.unwrap_err();
    assert_eq!(server.calls(), 4);
    Ok(())
}

#[tokio::test]
async fn a_stream_of_requests_was_sent_again_without_its_beginning() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let mut client = tonic::client::Grpc::new(repeatable(server.channel(), retrier(quick()?)?));
    client.ready().await?;
    let parts = ["one", "two", "three"].map(|part| Bytes::from_static(part.as_bytes()));
    let path = PathAndQuery::from_static(METHOD);
    let response = client.client_streaming(Request::new(iter(parts)), path, Text).await?;
    assert_eq!(response.into_inner(), "done");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body.len(), 3 * 5 + 11);
    assert_eq!(seen[1].body, seen[0].body);
    Ok(())
}
