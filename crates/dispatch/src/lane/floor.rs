//! All lanes of a node, and whose turn it is.

use std::num::NonZeroU32;

use stagger::{Entropy, Instant};

use super::{LaneView, Launch, Next, Settled};
use crate::model::{
    Answer, ApplicationId, Delivery, Disabled, Endpoint, EndpointId, MessageId, Standing,
};

/// The lanes of all endpoints.
#[derive(Debug)]
pub struct Floor {}

impl Floor {
    /// No lanes yet; `slots` attempts may be under way at once in all.
    #[must_use]
    pub fn new(slots: NonZeroU32) -> Self {
        let _ = slots;
        unimplemented!()
    }

    /// An application, new or changed: how many attempts it may have under way at once.
    pub fn put_application(&mut self, id: ApplicationId, slots: NonZeroU32) {
        let _ = (id, slots);
        unimplemented!()
    }

    /// Forgets an application and its endpoints.
    pub fn remove_application(&mut self, id: ApplicationId) {
        let _ = id;
        unimplemented!()
    }

    /// An endpoint, new or with changed settings; `standing` is what the store remembers, at a start.
    pub fn put_endpoint(&mut self, now: Instant, endpoint: &Endpoint, standing: Option<Standing>) {
        let _ = (now, endpoint, standing);
        unimplemented!()
    }

    /// Forgets an endpoint and its open deliveries.
    pub fn remove_endpoint(&mut self, id: EndpointId) {
        let _ = id;
        unimplemented!()
    }

    /// An open delivery: accepted, loaded or replayed. One that is there already is left as it is.
    pub fn add(&mut self, now: Instant, delivery: &Delivery) {
        let _ = (now, delivery);
        unimplemented!()
    }

    /// Takes an open delivery out, as it should be stored: cancelled. Nothing if it is not there. What
    /// is under way is not stopped, and its answer is then ignored.
    pub fn cancel(
        &mut self,
        now: Instant,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<Delivery> {
        let _ = (now, message, endpoint);
        unimplemented!()
    }

    /// What to do at `now`. Ask again until it says something else than `Send`.
    pub fn next(&mut self, now: Instant, entropy: &mut impl Entropy) -> Next {
        let _ = (now, entropy);
        unimplemented!()
    }

    /// What a launched attempt brought back; `None` when the delivery is not there any more.
    pub fn settle(
        &mut self,
        now: Instant,
        launch: Launch,
        answer: Answer,
        entropy: &mut impl Entropy,
    ) -> Option<Settled> {
        let _ = (now, launch, answer, entropy);
        unimplemented!()
    }

    /// Enables an endpoint: one probe first, then the recovery. What is to be stored, if it is there.
    pub fn enable(&mut self, now: Instant, id: EndpointId) -> Option<Standing> {
        let _ = (now, id);
        unimplemented!()
    }

    /// Disables an endpoint: its deliveries wait. What is to be stored, if it is there.
    pub fn disable(&mut self, now: Instant, id: EndpointId, reason: Disabled) -> Option<Standing> {
        let _ = (now, id, reason);
        unimplemented!()
    }

    /// Lets what is added now leave slowly, as after trouble: for a replay of many.
    pub fn recover(&mut self, now: Instant, id: EndpointId) -> Option<Standing> {
        let _ = (now, id);
        unimplemented!()
    }

    /// How an endpoint's lane stands.
    #[must_use]
    pub fn view(&self, now: Instant, id: EndpointId) -> Option<LaneView> {
        let _ = (now, id);
        unimplemented!()
    }

    /// Open deliveries in all.
    #[must_use]
    pub fn len(&self) -> usize {
        unimplemented!()
    }

    /// Whether there are no open deliveries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
