//! Lists in pages, newest first: a walk along an index, which ends once the page is full or enough was
//! looked at. No list is sorted, and none is scanned from its beginning.

use stagger::{Instant, Span};
use stagger_scheduler::model::{ApplicationId, DeliveryState, EndpointId, Message, MessageId};
use uuid::Uuid;

use super::{Cursor, DeliveryFilter, ListPage};

/// Entries that are examined for one page: some 10 ms of work, whatever the filter. A page that is
/// not full by then ends, and the next one continues from there.
pub(super) const EXAMINED: usize = 10_000;

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkOrder {
    NewestFirst,
    OldestFirst,
}

/// Along which index deliveries are looked for: the one that leads past the fewest others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    All,
    /// The open deliveries in one state, of an application or of all: the walks of its endpoints,
    /// merged.
    OpenOfEach(Option<ApplicationId>, DeliveryState),
    OpenOfEndpoint(EndpointId, DeliveryState),
    Ended(DeliveryState),
    OfApplication(ApplicationId),
    EndedOfApplication(ApplicationId, DeliveryState),
    OfEndpoint(EndpointId),
    EndedOfEndpoint(EndpointId, DeliveryState),
}

impl Walk {
    /// The walk for a filter.
    pub(super) fn of(application: Option<ApplicationId>, filter: &DeliveryFilter) -> Self {
        let ended =
            |state: &DeliveryState| matches!(state, DeliveryState::Dead | DeliveryState::Cancelled);
        if let Some(open) = filter.state.filter(|state| state.is_open()) {
            return match filter.endpoint {
                Some(endpoint) => Self::OpenOfEndpoint(endpoint, open),
                None => Self::OpenOfEach(application, open),
            };
        }
        match (filter.endpoint, application, filter.state.filter(ended)) {
            (Some(endpoint), _, Some(state)) => Self::EndedOfEndpoint(endpoint, state),
            (Some(endpoint), _, None) => Self::OfEndpoint(endpoint),
            (None, Some(application), Some(state)) => Self::EndedOfApplication(application, state),
            (None, Some(application), None) => Self::OfApplication(application),
            (None, None, Some(state)) => Self::Ended(state),
            (None, None, None) => Self::All,
        }
    }
}

/// The entries of a page, as they are found.
#[derive(Debug)]
pub(super) struct Gathering<T> {
    items: Vec<(Cursor, T)>,
    limit: usize,
    examined: usize,
    last: Option<Cursor>,
}

impl<T> Gathering<T> {
    pub(super) const fn new(limit: usize) -> Self {
        Self { items: Vec::new(), limit, examined: 0, last: None }
    }

    pub(super) fn see(&mut self, at: Cursor, item: Option<T>) {
        self.examined += 1;
        self.last = Some(at);
        self.items.extend(item.map(|item| (at, item)));
    }

    pub(super) fn is_over(&self) -> bool {
        self.items.len() > self.limit || self.examined >= EXAMINED
    }

    pub(super) fn into_page(mut self) -> ListPage<T> {
        let next = if self.items.len() > self.limit {
            self.items.truncate(self.limit);
            self.items.last().map(|(at, _)| *at)
        } else {
            self.last.filter(|_| self.examined >= EXAMINED)
        };
        ListPage { items: self.items.into_iter().map(|(_, item)| item).collect(), next }
    }
}

/// The bounds of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    pub(super) message: MessageId,
    pub(super) endpoint: EndpointId,
    pub(super) end: MessageId,
}

impl Begin {
    pub(super) fn of(order: WalkOrder, after: Option<Cursor>, ids: IdRange) -> Self {
        let (nearest, farthest, outside) = match order {
            WalkOrder::NewestFirst => (ids.to, ids.from, Uuid::max()),
            WalkOrder::OldestFirst => (ids.from, ids.to, Uuid::nil()),
        };
        let edge = (nearest, EndpointId::from_uuid(outside));
        let after =
            after.map(|c| (MessageId::from_uuid(c.message), EndpointId::from_uuid(c.endpoint)));
        let (message, endpoint) = match order {
            WalkOrder::NewestFirst => after.map_or(edge, |after| after.min(edge)),
            WalkOrder::OldestFirst => after.map_or(edge, |after| after.max(edge)),
        };
        Self { message, endpoint, end: farthest }
    }
}

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
    fn a_page_is_short_when_nothing_passes_for_long() {
        let mut found = Gathering::new(2);
        let at = |n: usize| Cursor {
            message: Uuid::from_u128(u128::MAX - n as u128),
            endpoint: Uuid::nil(),
        };
        for n in 0..EXAMINED {
            assert!(!found.is_over());
            found.see(at(n), (n == 7).then_some(n));
        }
        assert!(found.is_over());
        assert_eq!(found.into_page(), ListPage { items: vec![7], next: Some(at(EXAMINED - 1)) });
    }

    #[test]
    fn no_bound_is_every_id() {
        assert_eq!(first_of(0), MessageId::from_uuid(Uuid::nil()));
        assert_eq!(last_of(u64::MAX), MessageId::from_uuid(Uuid::max()));
        assert!(last_of(5) < first_of(6) && last_of(5).as_uuid().as_u128() >> REST == 5);
        assert_eq!(millis_of(last_of(5)), 5);
    }
}
