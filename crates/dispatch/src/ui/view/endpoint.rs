//! One endpoint.

use askama::Template;

use super::{Chart, DeliveryLine, EndpointRow, Frame, Settings, Tile};

/// The page of one endpoint: its state, its settings, its deliveries.
#[derive(Debug, Template)]
#[template(path = "ui/endpoint.html")]
pub(in crate::ui) struct EndpointPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) id: String,
    pub(in crate::ui) row: EndpointRow,
    pub(in crate::ui) is_disabled: bool,
    pub(in crate::ui) chart: Chart,
    pub(in crate::ui) tiles: Vec<Tile>,
    pub(in crate::ui) settings: Settings,
    /// The newest ones.
    pub(in crate::ui) deliveries: Vec<DeliveryLine>,
}
