//! The egress guard: which addresses and URLs may be reached at all.
//!
//! The owner of an endpoint chooses the address that this machine connects to. Without a guard that
//! is every service behind the firewall. A URL is checked when it is saved, by the parser that also
//! dials. Its name is resolved anew for each connection, and one answer that is not globally
//! routable refuses all of them.

mod address;
mod guard;
mod ranges;

pub(crate) use address::{Address, Host, Ports};
pub(crate) use guard::Guard;
