//! Applications and endpoints in memory: every message and every attempt reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use stagger_scheduler::model::{
    Application, ApplicationId, Endpoint, EndpointId, EventType, KeyHash,
};
use stagger_sender::Target;

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

    /// The number of receivers of a message of each type, in the types' order.
    pub(super) fn fan_out_sizes<'a>(
        &self,
        application: ApplicationId,
        types: impl Iterator<Item = &'a EventType>,
    ) -> Vec<usize> {
        let entries = self.read();
        let mut known = HashMap::new();
        let size = |event_type| {
            *known
                .entry(event_type)
                .or_insert_with(|| entries.receivers(application, event_type).count())
        };
        types.map(size).collect()
    }

    /// The receivers of a message of each type, in the types' order; `None` if there is no such
    /// application. Endpoints that are closed get none.
    pub(super) fn fan_out<'a>(
        &self,
        application: ApplicationId,
        types: impl Iterator<Item = &'a EventType>,
    ) -> Option<Vec<Vec<EndpointId>>> {
        let entries = self.read();
        entries.applications.get(&application)?;
        let receivers = |event_type| entries.receivers(application, event_type).collect();
        Some(types.map(receivers).collect())
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

    pub(super) fn put_application(&self, application: Application) {
        let mut entries = self.write();
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
        let owned: Vec<_> = entries.owned_by(id).collect();
        let endpoints = owned.into_iter().filter_map(|endpoint| entries.remove(endpoint)).collect();
        Some((application, endpoints))
    }

    pub(super) fn put_endpoint(&self, known: KnownEndpoint) {
        let mut entries = self.write();
        entries.owned.insert((known.endpoint.application, known.endpoint.id));
        entries.endpoints.insert(known.endpoint.id, known);
    }

    pub(super) fn remove_endpoint(&self, id: EndpointId) -> Option<KnownEndpoint> {
        self.write().remove(id)
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

    fn receivers<'e>(
        &'e self,
        application: ApplicationId,
        event_type: &'e EventType,
    ) -> impl Iterator<Item = EndpointId> + 'e {
        let wants = move |id: &EndpointId| {
            let known = self.endpoints.get(id).filter(|_| !self.closed.contains(id));
            known.is_some_and(|known| known.endpoint.events.wants(event_type))
        };
        self.owned_by(application).filter(wants)
    }

    fn remove(&mut self, id: EndpointId) -> Option<KnownEndpoint> {
        self.closed.remove(&id);
        let known = self.endpoints.remove(&id)?;
        self.owned.remove(&(known.endpoint.application, id));
        Some(known)
    }
}
