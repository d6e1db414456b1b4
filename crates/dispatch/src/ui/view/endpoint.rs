//! An endpoint: in one row, and on its own page.

use askama::Template;
use stagger::Instant;

use super::{Badge, Chart, DeliveryLine, EndpointStatus, Frame, Moment, Settings, Tile, figure};
use crate::model::{Application, Endpoint};
use crate::scheduler::QueueView;

/// An endpoint, and how its deliveries go.
#[derive(Clone, Debug)]
pub(in crate::ui) struct EndpointRow {
    pub(in crate::ui) href: String,
    pub(in crate::ui) url: String,
    pub(in crate::ui) description: String,
    pub(in crate::ui) application: String,
    pub(in crate::ui) application_href: String,
    pub(in crate::ui) state: Badge,
    pub(in crate::ui) meaning: &'static str,
    pub(in crate::ui) failing_since: Option<Moment>,
    /// The time of the next attempt: the next probe, or the end of a pause.
    pub(in crate::ui) back: Option<Moment>,
    pub(in crate::ui) ready: String,
    pub(in crate::ui) waiting: String,
    pub(in crate::ui) in_flight: String,
    /// Attempts a second that are allowed now.
    pub(in crate::ui) rate: Option<String>,
}

impl EndpointRow {
    pub(in crate::ui) fn new(
        endpoint: &Endpoint,
        application: &Application,
        view: &QueueView,
        now: Instant,
    ) -> Self {
        let state = EndpointStatus::of(view, now);
        let moment = |at: Instant| Moment::new(at, now);
        let count = |n: usize| figure(n as u64);
        let back = match state {
            EndpointStatus::Paused(until) => Some(until),
            EndpointStatus::Disabled(_) => None,
            _ => view.next_probe,
        };
        Self {
            href: format!("/ui/endpoints/{}", endpoint.id),
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            application: application.name.clone(),
            application_href: format!("/ui/applications/{}", application.id),
            state: state.into(),
            meaning: state.meaning(),
            failing_since: view.endpoint_state.failing_since.map(moment),
            back: back.map(moment),
            ready: count(view.ready),
            waiting: count(view.waiting),
            in_flight: count(view.in_flight),
            rate: view.rate.map(figure),
        }
    }
}

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
