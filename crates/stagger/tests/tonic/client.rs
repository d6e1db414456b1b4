//! tonic's client for one method whose messages are text, and policies with delays of milliseconds.

use std::error::Error as StdError;

use bytes::{Buf, BufMut, Bytes};
use http::Uri;
use http::uri::PathAndQuery;
use serde_json::{Value, json};
use stagger::budget::BudgetPlan;
use stagger::service_config::ServiceConfig;
use stagger::tonic::{Grpc, GrpcLayer};
use stagger::{Backoff, ConfigError, LocalLedger, Policy, PolicyBuilder, Retrier, Span, TokioTime};
use tonic::client::GrpcService;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tower::Layer;

pub(crate) const METHOD: &str = "/store.Orders/Get";

/// Delays of 1 to 2 ms, and no budget in the way.
pub(crate) fn quick() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_millis(1), Span::from_millis(2))?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

pub(crate) fn retrier(policy: PolicyBuilder) -> Result<Retrier<TokioTime>, ConfigError> {
    Ok(Retrier::new(policy.build()?, TokioTime).with_seed(7))
}

/// A channel all of whose methods may be called twice.
pub(crate) fn repeatable<S>(
    channel: S,
    retrier: Retrier<TokioTime>,
) -> Grpc<S, TokioTime, LocalLedger, fn(&Uri) -> bool> {
    Grpc::new(channel, retrier).idempotent(|_| true)
}

pub(crate) type Configured = Grpc<Channel, TokioTime>;

/// A channel under a service config with this entry for everything, and this throttling.
pub(crate) fn configured(
    channel: Channel,
    rule: (&str, &Value),
    throttling: &Value,
) -> Result<Configured, Box<dyn StdError + Send + Sync>> {
    let entry = json!({ "name": [{}], rule.0: rule.1 });
    let config = json!({ "methodConfig": [entry], "retryThrottling": throttling });
    let config: ServiceConfig = serde_json::from_value(config)?;
    let layer = GrpcLayer::new(retrier(quick()?)?).service_config(config);
    Ok(layer.layer(channel))
}

/// A `retryPolicy` of delays of 1 ms.
pub(crate) fn retrying(attempts: u32, codes: &[&str]) -> Value {
    json!({
        "maxAttempts": attempts, "initialBackoff": "0.001s", "maxBackoff": "0.001s",
        "backoffMultiplier": 1, "retryableStatusCodes": codes,
    })
}

/// One unary call.
pub(crate) async fn unary<S>(service: S, request: Request<Bytes>) -> Result<Response<Bytes>, Status>
where
    S: GrpcService<tonic::body::Body>,
    S::ResponseBody: Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut client = tonic::client::Grpc::new(service);
    ready(&mut client).await?;
    client.unary(request, PathAndQuery::from_static(METHOD), Text).await
}

/// One call whose response is a stream.
pub(crate) async fn streaming<S>(
    service: S,
    request: Request<Bytes>,
) -> Result<Response<tonic::Streaming<Bytes>>, Status>
where
    S: GrpcService<tonic::body::Body>,
    S::ResponseBody: Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut client = tonic::client::Grpc::new(service);
    ready(&mut client).await?;
    client.server_streaming(request, PathAndQuery::from_static(METHOD), Text).await
}

async fn ready<S>(client: &mut tonic::client::Grpc<S>) -> Result<(), Status>
where
    S: GrpcService<tonic::body::Body>,
{
    client.ready().await.map_err(|error| Status::from_error(error.into()))
}

pub(crate) fn hello() -> Request<Bytes> {
    Request::new(Bytes::from_static(b"hello"))
}

/// Messages as they are.
#[derive(Clone, Copy)]
pub(crate) struct Text;

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
