//! Attempts over real sockets.

mod attempts;
mod authentication;
mod authority;
mod certificates;
mod egress_proxy;
mod endpoint;
mod guard;
mod handshake;
mod message_signatures;
mod speed;
