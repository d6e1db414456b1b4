//! A gRPC service that calls another one for a client which retries.

use std::convert::Infallible;

use http::{Request, Uri};
use stagger::http::AttemptHeaders;
use stagger::tonic::GrpcLayer;
use stagger::tower::InboundLayer;
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tower::{Layer, service_fn};

use crate::Done;
use crate::client::{hello, quick, repeatable, retrier, unary};
use crate::server::{Reply, Scripted};

#[tokio::test]
async fn three_of_three_attempts_were_nine_calls() -> Done {
    let (silent, numbered) = (AttemptHeaders::new(), AttemptHeaders::new().number());
    for (layer, headers, calls) in [
        (None, numbered, 9),
        (Some(InboundLayer::new()), silent, 3 + 1 + 1),
        (Some(InboundLayer::new()), numbered, 3),
    ] {
        let busy = |_: &_| Reply::Status(tonic::Status::unavailable("busy"));
        let backend = Scripted::start(busy).await?;
        let next = repeatable(backend.channel(), retrier(quick()?)?);
        let service = service_fn(move |_: Request<Body>| {
            let next = next.clone();
            async move {
                let status =
                    unary(next, hello()).await.err().unwrap_or_else(|| tonic::Status::ok(""));
                Ok::<_, Infallible>(status.into_http::<Body>())
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr()?))?;
        let server = Server::builder().layer(tower::util::option_layer(layer));
        let incoming = TcpIncoming::from(listener);
        tokio::spawn(async move { server.serve_with_incoming(service, incoming).await });
        let client = GrpcLayer::new(retrier(quick()?)?).idempotent(|_: &Uri| true);
        let client = client.attempt_headers(headers).layer(endpoint.connect_lazy());
        assert!(unary(client, hello()).await.is_err());
        assert_eq!(backend.calls(), calls);
        let told = backend.seen();
        let told = told.iter().map(|seen| seen.headers.get("grpc-previous-rpc-attempts").cloned());
        let expected = [None, Some(1.into()), Some(2.into()), Some(1.into()), Some(2.into())];
        match calls {
            5 => assert_eq!(told.collect::<Vec<_>>(), expected, "a repeat is told on as one"),
            3 => assert_eq!(told.collect::<Vec<_>>(), expected[..3]),
            _ => {}
        }
    }
    Ok(())
}
