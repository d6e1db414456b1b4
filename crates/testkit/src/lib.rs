//! Test parts shared by the crates of stagger; never a dependency of a shipped crate.

#[cfg(feature = "browser")]
mod browser;
mod entropy;
#[cfg(feature = "formats")]
pub mod formats;
#[cfg(feature = "server")]
pub mod server;
pub mod vectors;

#[cfg(feature = "browser")]
pub use browser::Browser;
pub use entropy::{Mix, Scripted, highest, lowest};
