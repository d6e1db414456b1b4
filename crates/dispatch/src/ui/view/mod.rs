//! Pages as data and their templates: the contents, without their sources.

mod deliveries;
mod endpoint;
mod figure;
mod frame;
mod keys;

#[cfg(test)]
mod sample_test;

pub(super) use deliveries::{AttemptLine, DeliveriesPage, DeliveryLine, DeliveryPage, Filter};
pub(super) use endpoint::{
    ApplicationLine, ApplicationPage, ApplicationsPage, AuthForm, EndpointForm, EndpointFormPage,
    EndpointPage, EndpointRow, FailureLine, NodeLine, OverviewPage, SearchPage, Settings,
};
pub(super) use figure::{Badge, Chart, EndpointStatus, ErrorBars, Moment, Note, Tile, figure};
#[cfg(feature = "oidc")]
pub(super) use frame::SignedInPage;
pub(super) use frame::{
    AuditLine, AuditPage, CreatedPage, ErrorPage, Frame, OperatorLine, OperatorsPage, Section,
    SignInPage,
};
pub(super) use keys::{KeyLine, KeysPage};
