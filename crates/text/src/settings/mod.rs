//! Settings that a person writes in TOML, or the same in JSON: a document, readers of its tables, and a flaw with its place.
//!
//! A table is read by a [`Reader`], which remembers the keys that were asked for. All other keys are refused,
//! with the key that was probably meant.
//!
//! ```
//! use stagger_text::settings::Document;
//! let text = "workers = 99";
//! let document = Document::parse(text).expect("TOML");
//! let flaw = document.reader().count("workers", (1, 9)).expect_err("out of its bound");
//! assert_eq!(
//!     flaw.line("s.toml", text),
//!     "s.toml:1:11: workers = 99: must be a whole number from 1 to 9"
//! );
//! ```

mod document;
mod engine;
#[cfg(feature = "excerpts")]
mod excerpt;
mod flaw;
mod json;
mod reader;

pub use document::Document;
pub use engine::{engine, holds, last_before, place};
#[cfg(feature = "excerpts")]
pub use excerpt::{Excerpt, Level, SourceText};
pub use flaw::Flaw;
pub use reader::{Reader, Value, refused, shown};
