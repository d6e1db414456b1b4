//! What answers a request: looks things up, and hands them to a page.

mod act;
mod application;
mod arrivals;
mod cursor;
mod deliveries;
mod delivery;
mod endpoint;
mod line;
mod overview;
mod sign_in;
mod since;
mod trouble;
mod visit;

pub(super) use act::{cancel, disable, enable, replay_all, replay_many, replay_one, test};
pub(super) use application::{application, applications};
#[cfg(test)]
pub(super) use arrivals::Columns;
pub(super) use arrivals::arrivals;
pub(super) use deliveries::{dead, deliveries};
pub(super) use delivery::delivery;
pub(super) use endpoint::endpoint;
pub(super) use overview::overview;
pub(super) use sign_in::{SIGN_IN, sign_in, sign_in_form, sign_out};
pub(super) use trouble::{missing, refused};
