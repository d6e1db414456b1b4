//! The formats of logs: how a line becomes an attempt.

mod combined;
mod csv;
mod detect;
mod json;
mod map;
mod parser;
mod record;
mod status;
mod upstream;

pub use detect::Format;
pub use map::LogMap;
pub(crate) use parser::{Malformed, Parser};
use status::status;
