//! TOML that a person writes, or the same in JSON: a document, readers of its tables, and a flaw with its place.
//!
//! A file is read by [`Reader`]s, which remember the keys that were asked for. All other keys are refused,
//! with the key that was probably meant.

mod document;
mod engine;
mod excerpt;
mod flaw;
mod json;
mod reader;

pub(crate) use document::Document;
pub(crate) use engine::{engine, holds, last_before, place};
pub(crate) use excerpt::{Excerpt, SourceText};
pub(crate) use flaw::Flaw;
pub(crate) use reader::{Reader, Value, refused, shown};
