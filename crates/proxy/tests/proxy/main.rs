//! The proxy over real sockets, between plain clients and a server with faults on order.

mod admin;
mod client;
mod client_certificate;
mod fleet;
mod framing;
mod grpc;
mod grpc_call;
mod life;
mod refusals;
mod retries;
mod service_config;
mod streams;
mod threads;
mod tls;
mod tunnels;
mod untraced;
