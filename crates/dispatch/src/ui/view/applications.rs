//! The overview, the list of applications, and the page of one.

use askama::Template;

use super::{Chart, EndpointRow, Frame, Moment, Tile};

/// All applications.
#[derive(Debug, Template)]
#[template(path = "ui/applications.html")]
pub(in crate::ui) struct ApplicationsPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) applications: Vec<ApplicationLine>,
}

/// An application in one row.
#[derive(Clone, Debug)]
pub(in crate::ui) struct ApplicationLine {
    pub(in crate::ui) id: String,
    pub(in crate::ui) name: String,
    pub(in crate::ui) endpoints: String,
    pub(in crate::ui) slots: String,
    pub(in crate::ui) created: Moment,
}

/// One application with its endpoints.
#[derive(Debug, Template)]
#[template(path = "ui/application.html")]
pub(in crate::ui) struct ApplicationPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) application: ApplicationLine,
    pub(in crate::ui) endpoints: Vec<EndpointRow>,
    /// The number of entries that are not shown.
    pub(in crate::ui) more: Option<String>,
}

/// The overview page.
#[derive(Debug, Template)]
#[template(path = "ui/overview.html")]
pub(in crate::ui) struct OverviewPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) chart: Chart,
    pub(in crate::ui) tiles: Vec<Tile>,
    /// Endpoints that are not simply active, as many as are shown.
    pub(in crate::ui) unhealthy: Vec<EndpointRow>,
    /// The number of endpoints that are not shown.
    pub(in crate::ui) more: Option<String>,
    /// Whether there are no applications yet.
    pub(in crate::ui) is_new: bool,
    /// There are no endpoints yet.
    pub(in crate::ui) has_endpoints: bool,
}
