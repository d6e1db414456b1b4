//! Deliveries: in lists, and one with all its attempts.

use askama::Template;

use super::{Badge, Frame, Moment};

/// Deliveries that pass a filter, newest messages first.
#[derive(Debug, Template)]
#[template(path = "ui/deliveries.html")]
pub(in crate::ui) struct DeliveriesPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: &'static str,
    pub(in crate::ui) filter: Filter,
    pub(in crate::ui) deliveries: Vec<DeliveryLine>,
    /// The page after this one.
    pub(in crate::ui) older: Option<String>,
    /// Whether this is the first page.
    pub(in crate::ui) is_first: bool,
    /// The URL that replays the dead deliveries, or retries the waiting ones, that the list shows.
    pub(in crate::ui) again: Option<&'static str>,
}

impl DeliveriesPage {
    /// Whether the list is that of the dead letters.
    pub(in crate::ui) fn is_dead(&self) -> bool {
        self.frame.section == super::Section::Dead
    }
}

/// The current filter, and its choices.
#[derive(Clone, Debug, Default)]
pub(in crate::ui) struct Filter {
    /// The path without a query.
    pub(in crate::ui) path: &'static str,
    /// Each state: its name, where it leads, whether it is the one asked for.
    pub(in crate::ui) states: Vec<(&'static str, String, bool)>,
    /// The name of the state asked for, or nothing.
    pub(in crate::ui) state: &'static str,
    /// The endpoint that was typed.
    pub(in crate::ui) endpoint: String,
    /// The event type that was typed.
    pub(in crate::ui) event_type: String,
    /// The status of the last attempt that was typed.
    pub(in crate::ui) status: String,
    /// The times between which the messages were accepted, as they were typed.
    pub(in crate::ui) since: String,
    pub(in crate::ui) until: String,
    /// Ids and addresses of endpoints to choose from.
    pub(in crate::ui) endpoints: Vec<(String, String)>,
    /// The error in the typed text.
    pub(in crate::ui) error: Option<String>,
}

impl Filter {
    /// Whether everything is asked for.
    pub(in crate::ui) fn is_empty(&self) -> bool {
        self.state.is_empty() && self.fields().is_empty()
    }

    /// The fields that narrow the list, for forms that do something with it.
    pub(in crate::ui) fn fields(&self) -> Vec<(&'static str, &str)> {
        let fields = [
            ("endpoint", &self.endpoint),
            ("event_type", &self.event_type),
            ("status", &self.status),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| (name, value.as_str())).collect()
    }
}

/// A delivery in one row.
#[derive(Clone, Debug)]
pub(in crate::ui) struct DeliveryLine {
    pub(in crate::ui) href: String,
    pub(in crate::ui) message: String,
    pub(in crate::ui) event_type: String,
    pub(in crate::ui) url: String,
    pub(in crate::ui) endpoint_href: String,
    pub(in crate::ui) state: Badge,
    /// Why it ended, in words.
    pub(in crate::ui) reason: &'static str,
    pub(in crate::ui) attempts: u32,
    /// The time at which the next attempt is due.
    pub(in crate::ui) due: Option<Moment>,
    pub(in crate::ui) updated: Moment,
    /// The URL that replays it, if it has ended.
    pub(in crate::ui) replay: Option<String>,
    /// The URL that attempts it now, if it waits.
    pub(in crate::ui) retry: Option<String>,
}

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
    /// The payload as text; none once it was pruned.
    pub(in crate::ui) payload: Option<String>,
    /// The number of its bytes that are not shown.
    pub(in crate::ui) payload_rest: Option<String>,
    /// The headers of an attempt, a line each, without secrets.
    pub(in crate::ui) headers: String,
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
    /// The number of bytes that are kept, if all of them are there: the reply may have been longer.
    pub(in crate::ui) limit: Option<usize>,
}
