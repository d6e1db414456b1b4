//! The formats of logs: how a line becomes an attempt.

mod access_log_format;
mod alb;
mod columns;
mod combined;
mod envoy_text;
mod haproxy;
mod identity;
mod map;
mod parser;
mod prefix;
mod record;
mod scan;
mod uwsgi;
mod w3c;

pub use access_log_format::AccessLogFormat;
pub use map::LogMap;
pub(crate) use parser::Parser;
