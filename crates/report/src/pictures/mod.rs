//! The six pictures, each a function of the figures; `None` where the figures have nothing for it.

mod arrivals;
mod caption;
mod failures;
mod heat;
mod phases;
mod recovery;
mod strips;
mod varied;
mod window;

pub use arrivals::arrivals;
pub use failures::failures;
pub use heat::heat;
pub use phases::phases;
pub use recovery::recovery;
pub use strips::strips;
pub(crate) use varied::Varied;
