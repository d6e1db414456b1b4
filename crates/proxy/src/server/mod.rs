//! A proxy at work: its listeners, its routes, a new set of them, and its end.

mod error;
mod handle;
mod proxy;
mod state;

pub use error::ProxyError;
pub use handle::ProxyHandle;
pub use proxy::Proxy;
