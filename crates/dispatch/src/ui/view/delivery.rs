//! One delivery with all its attempts.

use askama::Template;

use super::{Badge, Frame, Moment};

/// One delivery.
#[derive(Debug, Template)]
#[template(path = "ui/delivery.html")]
pub(in crate::ui) struct DeliveryPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) path: String,
    pub(in crate::ui) message: String,
    pub(in crate::ui) event_type: String,
    pub(in crate::ui) accepted: Option<Moment>,
    pub(in crate::ui) size: String,
    pub(in crate::ui) content_type: String,
    pub(in crate::ui) idempotency_key: String,
    pub(in crate::ui) url: String,
    pub(in crate::ui) endpoint_href: String,
    pub(in crate::ui) application: String,
    pub(in crate::ui) application_href: String,
    pub(in crate::ui) state: Badge,
    pub(in crate::ui) is_open: bool,
    pub(in crate::ui) reason: &'static str,
    pub(in crate::ui) due: Option<Moment>,
    pub(in crate::ui) replays: u32,
    pub(in crate::ui) attempts: Vec<AttemptLine>,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(in crate::ui) struct AttemptLine {
    pub(in crate::ui) number: u32,
    pub(in crate::ui) started: Moment,
    pub(in crate::ui) latency: String,
    /// The status, or the name of the failure.
    pub(in crate::ui) result: String,
    pub(in crate::ui) verdict: Badge,
    /// A description of the failure.
    pub(in crate::ui) reason: String,
    /// The time for which the server asked not to be called.
    pub(in crate::ui) hint: Option<String>,
    /// The time at which the next attempt was due.
    pub(in crate::ui) next: Option<Moment>,
    /// The delay until the next attempt, which is the same whenever the page is read.
    pub(in crate::ui) delay: Option<String>,
    /// The first bytes of the reply, as text.
    pub(in crate::ui) reply: String,
}
