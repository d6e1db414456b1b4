#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod duration;
mod figure;
mod name;
mod place;
#[cfg(feature = "settings")]
pub mod settings;
mod size;
mod timestamp;
mod wrap;

pub use duration::{brief, coarse};
pub use figure::{
    NARROW_NO_BREAK, NO_BREAK, SPACE, grouped, number, percent, rough_count, rounded, whole,
};
pub use name::{advised, hint, nearest};
pub use place::{char_boundary, position};
pub use size::{parse_size, shown_size};
pub use timestamp::{
    NotRfc3339, Timestamp, common_log_date, lenient_date, utc_date, zoneless_date,
};
pub use wrap::{hanging, wrapped};
