//! Messages by the time of acceptance, without an index on it: their ids begin with a time.
//!
//! An id's time need not be that of acceptance: more ids than fit into a millisecond borrow from
//! the next, and other ids need not be of version 7 at all. A store remembers the largest
//! difference, its slack. Within that, a range of times is a range of ids; each message in it is
//! then compared. With the dispatcher's own ids the slack is some milliseconds.

use stagger::{Instant, Span};
use uuid::Uuid;

use crate::model::{Message, MessageId};

/// The range of ids of messages accepted within a range of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRange {
    /// The first.
    pub(super) from: MessageId,
    /// The last.
    pub(super) to: MessageId,
}

impl IdRange {
    /// The ids of messages accepted from `since` on and before `until`, with a slack in milliseconds.
    pub(super) fn of(slack: u64, since: Option<Instant>, until: Option<Instant>) -> Self {
        let first = since.map_or(0, |since| millis(since).saturating_sub(slack));
        let last = until.map_or(u64::MAX, |until| millis(until).saturating_add(slack));
        Self { from: first_of(first), to: last_of(last) }
    }
}

/// By how many milliseconds the times of `message` differ.
pub(super) const fn slack_of(message: &Message) -> u64 {
    millis_of(message.id).abs_diff(millis(message.created_at))
}

/// The milliseconds in an id.
pub(super) const fn millis_of(id: MessageId) -> u64 {
    let (upper, _) = id.as_uuid().as_u64_pair();
    upper >> (REST - u64::BITS)
}

/// The first id of a millisecond.
pub(super) fn first_of(millis: u64) -> MessageId {
    MessageId::from_uuid(Uuid::from_u128(u128::from(millis.min(END - 1)) << REST))
}

/// Bits of an id after its milliseconds (RFC 9562 section 5.7).
const REST: u32 = 80;
/// More milliseconds than an id has room for.
const END: u64 = 1 << 48;

const fn millis(instant: Instant) -> u64 {
    instant.as_nanos() / Span::from_millis(1).as_nanos()
}

fn last_of(millis: u64) -> MessageId {
    let next = u128::from(millis.min(END - 1) + 1) << REST;
    MessageId::from_uuid(Uuid::from_u128(next.wrapping_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bound_is_every_id() {
        assert_eq!(first_of(0), MessageId::from_uuid(Uuid::nil()));
        assert_eq!(last_of(u64::MAX), MessageId::from_uuid(Uuid::max()));
        assert!(last_of(5) < first_of(6) && last_of(5).as_uuid().as_u128() >> REST == 5);
        assert_eq!(millis_of(last_of(5)), 5);
    }
}
