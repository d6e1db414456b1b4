//! The encoding of rows in every store that has columns: which columns are read, and how times, sizes,
//! states and verdicts are kept in them.

use stagger::{Instant, Span, Verdict};

use super::unreadable::Unreadable;
use crate::model::DeliveryState;

/// The columns of a message.
pub(super) const MESSAGE: &str =
    "m.id, m.application, m.event_type, m.key, m.content_type, m.size, m.created_at";
/// The columns of a delivery.
pub(super) const DELIVERY: &str = "d.message, d.endpoint, d.application, d.state, d.due, \
     d.attempts, d.replays, d.call, d.ending, d.updated_at";
/// The columns of an attempt.
pub(super) const ATTEMPT: &str = "message, endpoint, number, started_at, latency, status, failure, \
     detail, reply, verdict, hint, next";

/// An instant, kept as its 64 bits.
pub(super) const fn from_instant(instant: Instant) -> i64 {
    instant.as_nanos().cast_signed()
}

/// The instant with these bits.
pub(super) const fn instant(bits: i64) -> Instant {
    Instant::from_nanos(bits.cast_unsigned())
}

/// A span, kept as its 64 bits.
pub(super) const fn from_span(span: Span) -> i64 {
    span.as_nanos().cast_signed()
}

/// The span with these bits.
pub(super) const fn span(bits: i64) -> Span {
    Span::from_nanos(bits.cast_unsigned())
}

/// A number of bytes or rows.
pub(super) fn from_size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The number of a state: never changed, because the stores of users have it.
pub(super) const fn state_number(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Pending => 0,
        DeliveryState::Waiting => 1,
        DeliveryState::Delivered => 2,
        DeliveryState::Dead => 3,
        DeliveryState::Cancelled => 4,
    }
}

/// The state with this number.
pub(super) fn state(number: i64) -> Result<DeliveryState, Unreadable> {
    let known =
        DeliveryState::ALL.into_iter().find(|state| i64::from(state_number(*state)) == number);
    known.ok_or_else(|| Unreadable::unknown("state", number))
}

/// The verdict of this name.
pub(super) fn verdict(name: &str) -> Result<Verdict, Unreadable> {
    let known = Verdict::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| Unreadable::unknown("verdict", name))
}
