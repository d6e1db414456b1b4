//! A dispatcher that serves: settings in, a listening node with its API, page and metrics out.

mod listening;

pub use listening::NodeServer;
