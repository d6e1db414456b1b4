//! Pages as data and their templates: the contents, without their sources.

mod applications;
mod badge;
mod chart;
mod deliveries;
mod endpoint;
mod figure;
mod frame;
mod moment;
mod note;
mod settings;

#[cfg(test)]
mod sample_test;

pub(super) use applications::{ApplicationLine, ApplicationPage, ApplicationsPage, OverviewPage};
pub(super) use badge::{Badge, EndpointStatus};
pub(super) use chart::Chart;
pub(super) use deliveries::{AttemptLine, DeliveriesPage, DeliveryLine, DeliveryPage, Filter};
pub(super) use endpoint::{EndpointPage, EndpointRow};
pub(super) use figure::{Tile, figure};
pub(super) use frame::{ErrorPage, Frame, Section, SignInPage};
pub(super) use moment::Moment;
pub(super) use note::Note;
pub(super) use settings::Settings;
