//! Writers: policies as settings of other products.
//!
//! A writer says what it can. The comparison with what the text is read as finds what is lost.

mod aws;
mod envoy;
mod gateway_api;
mod grpc;
mod istio;
mod polly;
mod resilience4j;
mod times;
mod yaml;

pub(crate) use aws::aws_text;
pub(crate) use envoy::envoy_text;
pub(crate) use gateway_api::gateway_api_text;
pub(crate) use grpc::grpc_text;
pub(crate) use istio::istio_text;
pub(crate) use polly::polly_text;
pub(crate) use resilience4j::resilience4j_text;
