//! The handle of a running dispatcher.

use std::sync::Arc;

use stagger::Span;

use super::{Arrivals, NodeOptions, Submission};
use crate::Error;
use crate::lane::LaneView;
use crate::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, KeyHash, MessageId,
};
use crate::send::Sender;
use crate::store::{Accepted, ReplayRequest, Store};

/// A running dispatcher. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Node {}

impl Node {
    /// Loads what is open from `store` and goes on with it. Runs until [`shutdown`](Self::shutdown).
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(
        store: Arc<dyn Store>,
        sender: Sender,
        options: NodeOptions,
    ) -> Result<Self, Error> {
        let _ = (store, sender, options);
        unimplemented!()
    }

    /// Stops launching, waits at most `grace` for what is under way, stores what it came to.
    pub async fn shutdown(&self, grace: Span) {
        let _ = grace;
        unimplemented!()
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        unimplemented!()
    }

    /// The sender: what checks addresses and headers before they are saved.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        unimplemented!()
    }

    /// An application, from memory.
    #[must_use]
    pub fn application(&self, id: ApplicationId) -> Option<Arc<Application>> {
        let _ = id;
        unimplemented!()
    }

    /// The application whose key has this hash, from memory.
    #[must_use]
    pub fn application_of_key(&self, key: KeyHash) -> Option<Arc<Application>> {
        let _ = key;
        unimplemented!()
    }

    /// All applications, oldest first, from memory.
    #[must_use]
    pub fn applications(&self) -> Vec<Arc<Application>> {
        unimplemented!()
    }

    /// An endpoint, from memory.
    #[must_use]
    pub fn endpoint(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        let _ = id;
        unimplemented!()
    }

    /// An application's endpoints, oldest first, from memory.
    #[must_use]
    pub fn endpoints(&self, application: ApplicationId) -> Vec<Arc<Endpoint>> {
        let _ = application;
        unimplemented!()
    }

    /// Writes an application, new or changed.
    ///
    /// # Errors
    /// The store did not do it.
    pub async fn put_application(&self, application: Application) -> Result<(), Error> {
        let _ = application;
        unimplemented!()
    }

    /// Deletes an application and everything of it.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        let _ = id;
        unimplemented!()
    }

    /// Writes the settings of an endpoint, new or changed.
    ///
    /// # Errors
    /// Its application is not there; a value is out of its bounds; the store did not do it.
    pub async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        let _ = endpoint;
        unimplemented!()
    }

    /// Deletes an endpoint; its open deliveries are cancelled.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_endpoint(&self, id: EndpointId) -> Result<(), Error> {
        let _ = id;
        unimplemented!()
    }

    /// Enables an endpoint: one probe first, then its backlog leaves slowly.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn enable(&self, id: EndpointId) -> Result<(), Error> {
        let _ = id;
        unimplemented!()
    }

    /// Disables an endpoint by hand: its deliveries wait.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn disable(&self, id: EndpointId) -> Result<(), Error> {
        let _ = id;
        unimplemented!()
    }

    /// Accepts messages: all of them, durably and fanned out, or none. Answers in their order.
    ///
    /// # Errors
    /// The application is not there; a type is operational; no room (busy); the store did not do it.
    pub async fn accept(
        &self,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        let _ = (application, messages);
        unimplemented!()
    }

    /// Sends one message to one endpoint only, whatever it asked for: a test event, type
    /// `stagger.test`.
    ///
    /// # Errors
    /// The endpoint is not there; the store did not do it.
    pub async fn send_test(&self, endpoint: EndpointId) -> Result<MessageId, Error> {
        let _ = endpoint;
        unimplemented!()
    }

    /// Makes finished deliveries pending again, all that the request names, in bounded steps; they
    /// leave as after trouble. Answers how many.
    ///
    /// # Errors
    /// The one delivery is not there or is open; the store did not do it.
    pub async fn replay(&self, request: ReplayRequest) -> Result<usize, Error> {
        let _ = request;
        unimplemented!()
    }

    /// Cancels an open delivery.
    ///
    /// # Errors
    /// It is not there; it is not open; the store did not do it.
    pub async fn cancel(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Delivery, Error> {
        let _ = (message, endpoint);
        unimplemented!()
    }

    /// How an endpoint's lane stands now.
    pub async fn view(&self, id: EndpointId) -> Option<LaneView> {
        let _ = id;
        unimplemented!()
    }

    /// The attempts of the last 5 minutes, of one endpoint or of all.
    #[must_use]
    pub fn arrivals(&self, endpoint: Option<EndpointId>) -> Arrivals {
        let _ = endpoint;
        unimplemented!()
    }

    /// Whether messages can be accepted now: for readiness.
    ///
    /// # Errors
    /// The store cannot write; there is no room; it is stopping.
    pub async fn ready(&self) -> Result<(), Error> {
        unimplemented!()
    }
}
