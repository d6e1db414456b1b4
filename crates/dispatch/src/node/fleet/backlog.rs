//! Backlogs of endpoints: many deliveries at once leave slowly.

use std::collections::BTreeMap;

use crate::model::{Delivery, EndpointId};
use crate::node::inbox::{Command, Inbox};

/// The number of overdue deliveries from which on an endpoint recovers slowly: deliveries missed
/// while no node led the endpoint are a backlog like any other. This many are a second's worth of a
/// recovery.
const BACKLOG: u32 = 100;

/// The deliveries counted so far to each endpoint.
#[derive(Debug, Default)]
pub(super) struct BacklogCounter {
    counts: BTreeMap<EndpointId, u32>,
}

impl BacklogCounter {
    /// Starts the recovery of the endpoints that reach a backlog with these deliveries. Called before
    /// the deliveries are scheduled, so that none of them is sent at full speed.
    pub(super) fn count<'d>(
        &mut self,
        deliveries: impl Iterator<Item = &'d Delivery>,
        inbox: &Inbox,
    ) {
        for endpoint in deliveries.map(|delivery| delivery.endpoint) {
            let count = self.counts.entry(endpoint).or_default();
            *count += 1;
            if *count == BACKLOG {
                recover(endpoint, inbox);
            }
        }
    }
}

/// Starts the recovery of an endpoint. Called before its deliveries are scheduled.
pub(in crate::node) fn recover(endpoint: EndpointId, inbox: &Inbox) {
    inbox.tell(Command::Do(Box::new(move |state| {
        state.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint));
    })));
}
