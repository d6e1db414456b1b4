//! Who gets in: signing in with the admin key, sessions, and requests that other pages have caused.

mod bucket;
mod gate;
mod keeper;
mod origin;
mod session;

pub(super) use gate::gate;
pub(super) use keeper::{Door, Refusal};
