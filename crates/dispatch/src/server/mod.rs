//! A dispatcher that serves: settings in, a listening node with its API, page and metrics out.

mod admin_key;
mod listening;

pub use admin_key::AdminKey;
pub use listening::Server;
