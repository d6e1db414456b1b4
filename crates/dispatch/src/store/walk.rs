//! Lists in pages, newest first: a walk along an index, which ends once the page is full or enough was
//! looked at. No list is sorted, and none is scanned from its beginning.

use uuid::Uuid;

use super::id_range::IdRange;
use super::{Cursor, DeliveryFilter, ListPage};
use crate::model::{ApplicationId, DeliveryState, EndpointId, MessageId};

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
    Open,
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
        match (filter.endpoint, application, filter.state.filter(ended)) {
            (Some(endpoint), _, Some(state)) => Self::EndedOfEndpoint(endpoint, state),
            (Some(endpoint), _, None) => Self::OfEndpoint(endpoint),
            (None, Some(application), Some(state)) => Self::EndedOfApplication(application, state),
            (None, Some(application), None) => Self::OfApplication(application),
            (None, None, Some(state)) => Self::Ended(state),
            (None, None, None) if filter.state.is_some_and(DeliveryState::is_open) => Self::Open,
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
}
