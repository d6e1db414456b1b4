//! Attempts over real sockets.

mod attempts;
mod endpoint;
mod guard;
mod speed;
