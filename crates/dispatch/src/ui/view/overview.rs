//! The first page.

use askama::Template;

use super::{Chart, EndpointRow, Frame, Tile};

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
