//! Times, sizes, figures and names as text, each with one rule for all of stagger's programs.
//!
//! This crate is private to stagger's crates: no promises.
//!
//! ```
//! use stagger_text::{SPACE, grouped, nearest, parse_size};
//! assert_eq!(grouped(1_234_567.0, SPACE), "1 234 567");
//! assert_eq!(parse_size("64KiB"), Some(65_536));
//! assert_eq!(nearest("fulll", ["none", "full"].into_iter()), Some("full"));
//! ```
#![forbid(unsafe_code)]

mod duration;
mod figure;
mod name;
mod place;
mod size;
mod timestamp;

pub use duration::{brief, coarse};
pub use figure::{
    NARROW_NO_BREAK, NO_BREAK, SPACE, grouped, number, percent, rough_count, rough_percent,
    rounded, whole,
};
pub use name::nearest;
pub use place::{char_boundary, position};
pub use size::{parse_size, shown_size};
pub use timestamp::{NotRfc3339, Timestamp, common_log_date, lenient_date, utc_date};
