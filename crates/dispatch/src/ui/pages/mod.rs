//! The handlers: they look data up, and pass it to a page.

mod actions;
mod application;
mod attempt_rates;
mod cursor;
mod deliveries;
mod delivery;
mod endpoint;
mod error;
mod line;
mod overview;
mod sign_in;
mod since;
mod visit;

pub(super) use actions::{cancel, disable, enable, replay_all, replay_many, replay_one, test};
pub(super) use application::{application, applications};
#[cfg(test)]
pub(super) use attempt_rates::RateColumns;
pub(super) use attempt_rates::attempt_rates;
pub(super) use deliveries::{dead, deliveries};
pub(super) use delivery::delivery;
pub(super) use endpoint::endpoint;
pub(super) use error::{missing, refused};
pub(super) use overview::overview;
pub(super) use sign_in::{SIGN_IN, sign_in, sign_in_form, sign_out};
