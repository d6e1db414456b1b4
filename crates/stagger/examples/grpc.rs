//! A tonic client under a gRPC service config, against a server that is away for a moment.
//!
//! `cargo run -p stagger --example grpc --features tokio,tonic`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{Buf, BufMut, Bytes};
use http_body_util::{BodyExt, Full};
use stagger::service_config::ServiceConfig;
use stagger::tonic::{CallError, GrpcLayer};
use stagger::{CallReport, Policy, Retrier, TokioTime};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Endpoint, Server, server::TcpIncoming};
use tonic::{Request, Status};
use tower::{Layer, service_fn};

const CONFIG: &str = r#"{
    "methodConfig": [{
        "name": [{ "service": "store.Orders" }],
        "timeout": "5s",
        "retryPolicy": {
            "maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.1s",
            "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]
        }
    }],
    "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let calls = Arc::new(AtomicU32::new(0));
    let server = service_fn(move |request: http::Request<Body>| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        ready(Ok::<_, Status>(answer(call, request.uri().path())))
    });
    tokio::spawn(Server::builder().serve_with_incoming(server, TcpIncoming::from(listener)));

    let config: ServiceConfig = serde_json::from_str(CONFIG)?;
    let layer = GrpcLayer::new(Retrier::new(Policy::default(), TokioTime)).service_config(config);
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
    // With generated code: `OrdersClient::new(layer.layer(channel))`.
    let mut client = tonic::client::Grpc::new(layer.layer(channel));

    for path in ["/store.Orders/Get", "/store.Orders/Delete"] {
        client.ready().await?;
        let request = Request::new(Bytes::from_static(b"order 7"));
        match client.unary(request, path.parse()?, Text).await {
            Ok(response) => {
                let attempts = response.extensions().get::<CallReport>().map(CallReport::attempts);
                println!("{path}: {:?} after {attempts:?} attempts", response.get_ref());
            }
            Err(status) => {
                let stop = CallError::of(&status).and_then(|end| end.report().stop());
                println!("{path}: {:?}, because {stop:?}", status.code());
            }
        }
    }
    Ok(())
}

/// Fails two calls; then it knows every order, and refuses to delete one.
fn answer(call: u32, path: &str) -> http::Response<Body> {
    match path {
        _ if call < 2 => Status::unavailable("starting").into_http(),
        "/store.Orders/Get" => {
            let message = Full::new(Bytes::from_static(b"\0\0\0\0\x05a hat"));
            let mut ok = http::HeaderMap::new();
            ok.insert("grpc-status", http::HeaderValue::from_static("0"));
            http::Response::new(Body::new(message.with_trailers(ready(Some(Ok(ok))))))
        }
        _ => Status::permission_denied("not yours").into_http(),
    }
}

/// Messages as they are, where generated code has protobuf.
struct Text;

impl Codec for Text {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Text {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Text {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
