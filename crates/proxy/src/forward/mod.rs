//! The way of a request: its route, its call under the route's policy, and the reply.

mod body_memory;
mod fields;
mod grpc;
mod hedged_call;
mod http_call;
mod in_flight;
mod refusal;
mod relay;
mod request;
mod route;
mod route_state;
mod route_table;
mod tunnel;

pub(crate) use request::{Caller, forward};
pub(crate) use route_table::RouteTable;
