//! The columns that rows are read from, in the order in which every store reads them.

/// The columns of a message.
pub(super) const MESSAGE: &str =
    "m.id, m.application, m.event_type, m.key, m.content_type, m.size, m.created_at";
/// The columns of a delivery.
pub(super) const DELIVERY: &str = "d.message, d.endpoint, d.application, d.state, d.due, \
     d.attempts, d.replays, d.call, d.ending, d.updated_at";
/// The columns of an attempt.
pub(super) const ATTEMPT: &str = "message, endpoint, number, started_at, latency, status, failure, \
     detail, reply, verdict, hint, next";
