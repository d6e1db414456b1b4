//! The portal's pages as data and their templates.

use std::sync::Arc;

use askama::Template;

use super::assets::PortalAssets;
use crate::ui::view::{
    AttemptLine, Badge, DeliveryLine, EndpointForm, EndpointRow, Moment, Note, Settings,
};

/// The parts that all pages share.
#[derive(Debug)]
pub(super) struct PortalFrame {
    /// The time at which the page was made.
    pub(super) now: Moment,
    pub(super) title: String,
    pub(super) logo: Option<String>,
    /// The path below which all pages of the session are; empty outside of one.
    pub(super) base: String,
    /// The name of the application.
    pub(super) application: String,
    pub(super) section: PortalSection,
    /// Its own path and query, to be asked for again.
    pub(super) here: String,
    /// The result of the last action.
    pub(super) note: Option<Note>,
    /// Whether forms and buttons are shown.
    pub(super) may_manage: bool,
    /// The end of the session.
    pub(super) until: Option<Moment>,
    pub(super) assets: Arc<PortalAssets>,
}

impl PortalFrame {
    /// Whether there is a session.
    pub(super) const fn is_inside(&self) -> bool {
        !self.base.is_empty()
    }

    /// The entries of the menu.
    pub(super) fn menu(&self) -> [(String, &'static str, bool); 3] {
        let entry =
            |path, name, section| (format!("{}{path}", self.base), name, self.section == section);
        [
            entry("", "Endpoints", PortalSection::Endpoints),
            entry("/deliveries", "Deliveries", PortalSection::Deliveries),
            entry("/event-types", "Event types", PortalSection::EventTypes),
        ]
    }
}

/// The entries of the menu, and pages that belong to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortalSection {
    Endpoints,
    Deliveries,
    EventTypes,
    /// Opening, errors.
    Outside,
}

/// Opens the portal with the link in the address.
#[derive(Debug, Template)]
#[template(path = "portal/open.html")]
pub(super) struct OpenPage {
    pub(super) frame: PortalFrame,
}

/// An error.
#[derive(Debug, Template)]
#[template(path = "portal/error.html")]
pub(super) struct PortalErrorPage {
    pub(super) frame: PortalFrame,
    pub(super) heading: &'static str,
    pub(super) detail: String,
}

/// All endpoints, and the newest deliveries.
#[derive(Debug, Template)]
#[template(path = "portal/home.html")]
pub(super) struct HomePage {
    pub(super) frame: PortalFrame,
    pub(super) endpoints: Vec<EndpointRow>,
    /// The number of endpoints that are not shown.
    pub(super) more: Option<String>,
    pub(super) deliveries: Vec<PortalDelivery>,
}

/// A delivery in one row, with the result of its last attempt.
#[derive(Clone, Debug)]
pub(super) struct PortalDelivery {
    pub(super) line: DeliveryLine,
    /// The status or the failure; none before the first attempt.
    pub(super) last: Option<String>,
}

/// The event types of the catalogue.
#[derive(Debug, Template)]
#[template(path = "portal/event_types.html")]
pub(super) struct EventTypesPage {
    pub(super) frame: PortalFrame,
    pub(super) event_types: Vec<EventTypeLine>,
}

/// One event type.
#[derive(Clone, Debug)]
pub(super) struct EventTypeLine {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Option<String>,
    pub(super) example: Option<String>,
}

/// One endpoint.
#[derive(Debug, Template)]
#[template(path = "portal/endpoint.html")]
pub(super) struct PortalEndpointPage {
    pub(super) frame: PortalFrame,
    pub(super) id: String,
    pub(super) row: EndpointRow,
    pub(super) is_disabled: bool,
    pub(super) settings: Settings,
    pub(super) deliveries: Vec<PortalDelivery>,
}

/// The secrets of an endpoint, the newest first.
#[derive(Debug, Template)]
#[template(path = "portal/secret.html")]
pub(super) struct SecretPage {
    pub(super) frame: PortalFrame,
    pub(super) url: String,
    /// The page of the endpoint.
    pub(super) back: String,
    /// Whether the endpoint was made just now.
    pub(super) is_new: bool,
    pub(super) secrets: Vec<SecretLine>,
}

/// One secret that signs.
#[derive(Clone, Debug)]
pub(super) struct SecretLine {
    pub(super) text: String,
    /// The key with which a receiver checks an ed25519 signature.
    pub(super) public_key: Option<String>,
    /// The end of its time, if it was replaced.
    pub(super) until: Option<Moment>,
}

/// The form of an endpoint's settings.
#[derive(Debug, Template)]
#[template(path = "portal/endpoint_form.html")]
pub(super) struct PortalFormPage {
    pub(super) frame: PortalFrame,
    pub(super) is_new: bool,
    /// The URL that takes the form.
    pub(super) path: String,
    /// The page to go back to.
    pub(super) back: String,
    pub(super) form: EndpointForm,
    /// The names of event types that are offered.
    pub(super) event_types: Vec<String>,
    /// The error in what was typed.
    pub(super) error: Option<String>,
}

impl PortalFormPage {
    /// Whether a setting that is shown on demand has a value.
    pub(super) fn has_more(&self) -> bool {
        let EndpointForm { timeout, concurrency, rate, permanent, disable_after, .. } = &self.form;
        let EndpointForm { ordered, headers, secret_headers, .. } = &self.form;
        let EndpointForm { channels, filter, format, signatures, handshake, auth, .. } = &self.form;
        let more = [timeout, concurrency, rate, permanent, disable_after, ordered, format];
        let rare = [headers, secret_headers, channels, filter, handshake, &auth.kind];
        self.error.is_some() && more.iter().chain(&[signatures]).any(|text| !text.is_empty())
            || rare.iter().any(|text| !text.is_empty())
    }
}

/// Deliveries that pass a filter, newest messages first.
#[derive(Debug, Template)]
#[template(path = "portal/deliveries.html")]
pub(super) struct PortalDeliveriesPage {
    pub(super) frame: PortalFrame,
    /// Each state: its name, where it leads, whether it is the one asked for.
    pub(super) states: Vec<(&'static str, String, bool)>,
    /// The endpoint of which they are, if one is asked for: its URL.
    pub(super) endpoint: Option<String>,
    /// The list without a filter.
    pub(super) path: String,
    pub(super) deliveries: Vec<PortalDelivery>,
    /// The page after this one.
    pub(super) older: Option<String>,
    /// The first page.
    pub(super) newest: Option<String>,
}

/// One delivery with every attempt.
#[derive(Debug, Template)]
#[template(path = "portal/delivery.html")]
pub(super) struct PortalDeliveryPage {
    pub(super) frame: PortalFrame,
    pub(super) path: String,
    pub(super) message: String,
    pub(super) event_type: String,
    pub(super) accepted: Option<Moment>,
    pub(super) size: String,
    pub(super) content_type: String,
    pub(super) url: String,
    /// The page of the endpoint, if it is there.
    pub(super) endpoint_href: Option<String>,
    pub(super) state: Badge,
    pub(super) is_open: bool,
    pub(super) reason: &'static str,
    pub(super) due: Option<Moment>,
    pub(super) attempts: Vec<AttemptLine>,
    /// The payload as text; none once it was pruned.
    pub(super) payload: Option<String>,
    /// The number of its bytes that are not shown.
    pub(super) payload_rest: Option<String>,
}
