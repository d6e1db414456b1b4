//! The formats: one file for each, and one row in the list.

mod aws;
mod dapr;
mod envoy;
mod envoy_clusters;
mod envoy_gateway;
mod envoy_listener;
mod envoy_match;
mod envoy_retry;
mod envoy_routes;
mod envoy_servers;
mod format;
mod gateway_api;
mod grpc;
mod haproxy;
mod istio;
mod istio_routes;
mod istio_servers;
mod kubernetes;
mod kuma;
mod linkerd;
mod list;
mod nginx;
mod polly;
mod polly_parts;
mod resilience4j;
mod resilience4j_instances;
mod route_parts;
mod spring_retry;
mod temporal;

pub(crate) use format::{Format, Page, RouteFormat};
pub(crate) use list::{FORMATS, ROUTE_FORMATS};
pub use route_parts::PROXY_HEADERS;
