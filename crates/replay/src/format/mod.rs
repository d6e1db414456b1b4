//! The formats of logs: how a line becomes an attempt.

mod combined;
mod csv;
mod detect;
mod json;
mod kind;
mod map;
mod parser;
mod record;
mod upstream;

pub use kind::AccessLogFormat;
pub use map::LogMap;
pub(crate) use parser::Parser;
