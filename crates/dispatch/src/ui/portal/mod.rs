//! The portal: the pages on which the people of one application see and manage its endpoints, served at `/portal`.
//!
//! A link opens it once; a cookie then holds a session, which is signed and not kept. Every handler gets its endpoint or
//! delivery through the [`PortalVisitor`](state::PortalVisitor), which knows one application only.

mod actions;
mod assets;
mod deliveries;
mod endpoints;
mod error;
mod event_types;
mod limits;
mod open;
mod router;
mod session;
mod settings;
mod state;
mod view;

pub(super) use router::{PortalOptions, routes};
