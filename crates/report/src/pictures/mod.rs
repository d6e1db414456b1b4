//! The six pictures, each a function of the figures; `None` where the figures have nothing for it.

mod arrivals;
mod failures;
mod phases;
mod recovery;
mod strips;
mod window;

pub use arrivals::arrivals;
pub use failures::{failures, heat};
pub use phases::phases;
pub use recovery::recovery;
pub use strips::strips;
pub(crate) use window::Varied;
