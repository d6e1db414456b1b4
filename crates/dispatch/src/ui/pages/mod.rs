//! The handlers: they look data up, and pass it to a page.

mod actions;
mod audit;
pub(super) mod deliveries;
pub(super) mod endpoint;
mod endpoint_form;
mod keys;
mod manage;
#[cfg(feature = "oidc")]
mod oidc;
mod overview;
mod search;
mod sign_in;
pub(super) mod visit;

pub(super) use actions::{
    cancel, disable, enable, replay_all, replay_many, replay_missing, replay_one, retry_all,
    retry_endpoint, retry_one, test,
};
pub(super) use audit::{audit, operators};
pub(super) use deliveries::{dead, deliveries, delivery};
#[cfg(test)]
pub(super) use endpoint::RateColumns;
pub(super) use endpoint::{attempt_rates, endpoint};
pub(super) use keys::{delete_key, keys};
pub(super) use manage::{
    change_endpoint, create_application, create_endpoint, edit_endpoint, new_endpoint,
    rename_application,
};
#[cfg(feature = "oidc")]
pub(super) use oidc::{finish as oidc_finish, start as oidc_start};
pub(super) use overview::{application, applications, overview};
pub(super) use search::search;
#[cfg(feature = "oidc")]
pub(super) use sign_in::PROVIDER;
pub(super) use sign_in::{SIGN_IN, sign_in, sign_in_form, sign_out};
pub(super) use visit::{missing, refused};
