//! Pages as data and their templates: the contents, without their sources.

mod applications;
mod badge;
mod chart;
mod deliveries;
mod delivery;
mod endpoint;
mod error;
mod figure;
mod frame;
mod moment;
mod note;
mod overview;
mod row;
mod settings;
mod sign_in;

#[cfg(test)]
mod sample_test;

pub(super) use applications::{ApplicationLine, ApplicationPage, ApplicationsPage};
pub(super) use badge::{Badge, EndpointStatus};
pub(super) use chart::Chart;
pub(super) use deliveries::{DeliveriesPage, DeliveryLine, Filter};
pub(super) use delivery::{AttemptLine, DeliveryPage};
pub(super) use endpoint::EndpointPage;
pub(super) use error::ErrorPage;
pub(super) use figure::figure;
pub(super) use frame::{Frame, Section};
pub(super) use moment::Moment;
pub(super) use note::Note;
pub(super) use overview::{OverviewPage, Tile};
pub(super) use row::EndpointRow;
pub(super) use settings::Settings;
pub(super) use sign_in::SignInPage;
