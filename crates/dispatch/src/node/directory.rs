//! Applications and endpoints in memory: every message and every attempt reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use stagger_scheduler::model::{
    Application, ApplicationId, Endpoint, EndpointId, ExternalId, KeyHash,
};
use stagger_sender::Target;

use super::routing::{ApplicationFilters, Routed, Subscribers};
use crate::Error;

/// The settings of all applications, as the store has them.
#[derive(Debug, Default)]
pub(super) struct Directory {
    entries: RwLock<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    applications: BTreeMap<ApplicationId, Arc<Application>>,
    endpoints: BTreeMap<EndpointId, KnownEndpoint>,
    /// The endpoints of each application.
    owned: BTreeSet<(ApplicationId, EndpointId)>,
    keys: HashMap<KeyHash, ApplicationId>,
    /// The endpoints that get no new messages, because they are gone or have failed for too long.
    closed: BTreeSet<EndpointId>,
    /// Applications and endpoints by the ids that callers gave them.
    application_uids: BTreeMap<ExternalId, ApplicationId>,
    endpoint_uids: BTreeMap<(ApplicationId, ExternalId), EndpointId>,
    /// The filters of each application that has some.
    filters: BTreeMap<ApplicationId, Arc<ApplicationFilters>>,
}

/// An endpoint, and its prepared target, read from its settings once.
#[derive(Clone, Debug)]
pub(super) struct KnownEndpoint {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) target: Arc<Target>,
}

impl Directory {
    pub(super) fn application(&self, id: ApplicationId) -> Option<Arc<Application>> {
        self.read().applications.get(&id).cloned()
    }

    pub(super) fn application_of_key(&self, key: KeyHash) -> Option<Arc<Application>> {
        let entries = self.read();
        let id = entries.keys.get(&key)?;
        entries.applications.get(id).cloned()
    }

    pub(super) fn application_of_uid(&self, uid: &ExternalId) -> Option<Arc<Application>> {
        let entries = self.read();
        entries.applications.get(entries.application_uids.get(uid)?).cloned()
    }

    pub(super) fn endpoint_of_uid(
        &self,
        application: ApplicationId,
        uid: &ExternalId,
    ) -> Option<Arc<Endpoint>> {
        let entries = self.read();
        let id = entries.endpoint_uids.get(&(application, uid.clone()))?;
        entries.endpoints.get(id).map(|known| Arc::clone(&known.endpoint))
    }

    pub(super) fn applications(&self) -> Vec<Arc<Application>> {
        self.read().applications.values().cloned().collect()
    }

    pub(super) fn endpoint(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        self.read().endpoints.get(&id).map(|known| Arc::clone(&known.endpoint))
    }

    pub(super) fn target(&self, id: EndpointId) -> Option<Arc<Target>> {
        self.read().endpoints.get(&id).map(|known| Arc::clone(&known.target))
    }

    pub(super) fn endpoints(&self, application: ApplicationId) -> Vec<Arc<Endpoint>> {
        let entries = self.read();
        let endpoint = |id| entries.endpoints.get(&id).map(|known| Arc::clone(&known.endpoint));
        entries.owned_by(application).filter_map(endpoint).collect()
    }

    pub(super) fn all_endpoints(&self) -> Vec<EndpointId> {
        self.read().endpoints.keys().copied().collect()
    }

    /// Notes whether an endpoint gets new messages.
    pub(super) fn set_closed(&self, id: EndpointId, closed: bool) {
        let known = self.read().closed.contains(&id);
        if known == closed {
            return;
        }
        let mut entries = self.write();
        if closed && entries.endpoints.contains_key(&id) {
            entries.closed.insert(id);
        } else {
            entries.closed.remove(&id);
        }
    }

    /// The number of endpoints that subscribe to each message by its type and channels, in the messages'
    /// order. Filters are not asked: they can only lower it.
    pub(super) fn fan_out_sizes<'m>(
        &self,
        application: ApplicationId,
        messages: impl Iterator<Item = Routed<'m>>,
    ) -> Vec<usize> {
        let entries = self.read();
        let mut known = HashMap::new();
        let size = |message: Routed<'m>| {
            *known
                .entry((message.event_type, message.channels))
                .or_insert_with(|| entries.subscribers(application, message).count())
        };
        messages.map(size).collect()
    }

    /// The receivers of each message, in the messages' order; `None` if there is no such application.
    /// Endpoints that are closed get none.
    pub(super) fn fan_out<'m>(
        &self,
        application: ApplicationId,
        messages: impl Iterator<Item = Routed<'m>>,
    ) -> Option<Vec<Vec<EndpointId>>> {
        let subscribers = |message: Routed<'m>| {
            let entries = self.read();
            let filters = entries.filters.get(&application).cloned();
            let endpoints = entries.subscribers(application, message);
            let endpoints =
                endpoints.map(|it| (it.id, it.filter.is_some().then(|| Arc::clone(it))));
            (Subscribers { endpoints: endpoints.collect(), filters }, message.payload)
        };
        self.application(application)?;
        // Payloads are read without the lock.
        let receivers = |message| {
            let (subscribers, payload) = subscribers(message);
            subscribers.filtered(payload)
        };
        Some(messages.map(receivers).collect())
    }

    /// Checks that no other application has one of its keys.
    pub(super) fn check_keys(&self, application: &Application) -> Result<(), Error> {
        let entries = self.read();
        let other = |key| entries.keys.get(key).is_some_and(|owner| *owner != application.id);
        if application.keys.iter().any(other) {
            return Err(Error::conflict("another application has this key"));
        }
        Ok(())
    }

    /// Checks that no other application has its uid.
    pub(super) fn check_application_uid(&self, application: &Application) -> Result<(), Error> {
        let Some(uid) = &application.labels.uid else { return Ok(()) };
        let owner = self.read().application_uids.get(uid).copied();
        if owner.is_some_and(|owner| owner != application.id) {
            return Err(Error::conflict(format!("another application has the uid {uid}")));
        }
        Ok(())
    }

    /// Checks that no other endpoint of its application has its uid.
    pub(super) fn check_endpoint_uid(&self, endpoint: &Endpoint) -> Result<(), Error> {
        let Some(uid) = &endpoint.labels.uid else { return Ok(()) };
        let owner = self.endpoint_of_uid(endpoint.application, uid);
        if owner.is_some_and(|owner| owner.id != endpoint.id) {
            return Err(Error::conflict(format!(
                "another endpoint of the application has the uid {uid}"
            )));
        }
        Ok(())
    }

    pub(super) fn put_application(&self, application: Application) {
        let mut entries = self.write();
        entries.application_uids.retain(|_, owner| *owner != application.id);
        if let Some(uid) = application.labels.uid.clone() {
            entries.application_uids.insert(uid, application.id);
        }
        entries.keys.retain(|_, owner| *owner != application.id);
        entries.keys.extend(application.keys.iter().map(|key| (*key, application.id)));
        entries.applications.insert(application.id, Arc::new(application));
    }

    /// Takes an application out with its endpoints, and answers with all of them.
    pub(super) fn remove_application(
        &self,
        id: ApplicationId,
    ) -> Option<(Arc<Application>, Vec<KnownEndpoint>)> {
        let mut entries = self.write();
        let application = entries.applications.remove(&id)?;
        entries.keys.retain(|_, owner| *owner != id);
        entries.application_uids.retain(|_, owner| *owner != id);
        let owned: Vec<_> = entries.owned_by(id).collect();
        let endpoints = owned.into_iter().filter_map(|endpoint| entries.remove(endpoint)).collect();
        entries.filters.remove(&id);
        Some((application, endpoints))
    }

    pub(super) fn put_endpoint(&self, known: KnownEndpoint) {
        let mut entries = self.write();
        let application = known.endpoint.application;
        let has_filter = known.endpoint.filter.is_some();
        entries.name_endpoint(&known.endpoint);
        entries.owned.insert((application, known.endpoint.id));
        entries.endpoints.insert(known.endpoint.id, known);
        if has_filter || entries.filters.contains_key(&application) {
            entries.collect_filters(application);
        }
    }

    pub(super) fn remove_endpoint(&self, id: EndpointId) -> Option<KnownEndpoint> {
        let mut entries = self.write();
        let known = entries.remove(id)?;
        if known.endpoint.filter.is_some() {
            entries.collect_filters(known.endpoint.application);
        }
        Some(known)
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn owned_by(&self, application: ApplicationId) -> impl Iterator<Item = EndpointId> {
        let first = EndpointId::from_uuid(uuid::Uuid::nil());
        let last = EndpointId::from_uuid(uuid::Uuid::max());
        self.owned.range((application, first)..=(application, last)).map(|(_, endpoint)| *endpoint)
    }

    fn known_of(&self, application: ApplicationId) -> impl Iterator<Item = &Arc<Endpoint>> {
        let known = move |id| self.endpoints.get(&id).map(|known| &known.endpoint);
        self.owned_by(application).filter_map(known)
    }

    /// The endpoints that subscribe to a message by its type and channels.
    fn subscribers<'e>(
        &'e self,
        application: ApplicationId,
        message: Routed<'e>,
    ) -> impl Iterator<Item = &'e Arc<Endpoint>> {
        let wants = move |it: &&Arc<Endpoint>| {
            !self.closed.contains(&it.id) && it.subscribes_to(message.event_type, message.channels)
        };
        self.known_of(application).filter(wants)
    }

    /// Notes the uid of an endpoint, and forgets the one that it had.
    fn name_endpoint(&mut self, endpoint: &Endpoint) {
        let before = self.endpoints.get(&endpoint.id).and_then(|it| it.endpoint.labels.uid.clone());
        if let Some(uid) = before {
            self.forget_uid(endpoint.application, uid, endpoint.id);
        }
        if let Some(uid) = endpoint.labels.uid.clone() {
            self.endpoint_uids.insert((endpoint.application, uid), endpoint.id);
        }
    }

    fn forget_uid(&mut self, application: ApplicationId, uid: ExternalId, id: EndpointId) {
        let key = (application, uid);
        if self.endpoint_uids.get(&key) == Some(&id) {
            self.endpoint_uids.remove(&key);
        }
    }

    fn collect_filters(&mut self, application: ApplicationId) {
        let filters = ApplicationFilters::of(self.known_of(application));
        self.filters.insert(application, Arc::new(filters));
    }

    fn remove(&mut self, id: EndpointId) -> Option<KnownEndpoint> {
        self.closed.remove(&id);
        let known = self.endpoints.remove(&id)?;
        self.owned.remove(&(known.endpoint.application, id));
        if let Some(uid) = known.endpoint.labels.uid.clone() {
            self.forget_uid(known.endpoint.application, uid, id);
        }
        Some(known)
    }
}
