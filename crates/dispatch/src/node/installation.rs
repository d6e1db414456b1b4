//! Settings of the whole installation: the catalogue of event types, and the API keys.

use std::sync::Arc;

use stagger::Instant;
use stagger_scheduler::model::{ApiKeyId, ApplicationId, EventType, EventValidation, KeyHash};
use stagger_store::{DocumentKey, DocumentKind, SettingDocument, SettingWrite};

use super::catalogue::{Catalogue, CatalogueType, EventTypeSettings};
use super::key_ring::KeyRing;
use super::{Node, key_ring};
use crate::Error;
use crate::access::ApiKey;

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The documents of the installation in memory.
#[derive(Debug)]
pub(super) struct Installation {
    pub(super) catalogue: Catalogue,
    pub(super) keys: KeyRing,
}

impl Installation {
    pub(super) fn new(validation: EventValidation) -> Self {
        Self { catalogue: Catalogue::new(validation), keys: KeyRing::default() }
    }

    /// Follows a changed document; `None` if it was deleted.
    pub(super) fn follow(&self, key: &DocumentKey, document: Option<&str>) {
        match key.kind {
            DocumentKind::EventType => self.catalogue.follow(&key.id, document),
            DocumentKind::ApiKey => self.keys.follow(&key.id, document),
        }
    }

    /// Takes all documents over, and forgets those that are gone.
    pub(super) fn replace_all(&self, documents: &[SettingDocument]) {
        let known =
            |kind, ids: Vec<String>| ids.into_iter().map(move |id| DocumentKey::new(kind, id));
        let event_types = known(DocumentKind::EventType, self.catalogue.ids());
        for key in event_types.chain(known(DocumentKind::ApiKey, self.keys.ids())) {
            if !documents.iter().any(|document| document.key == key) {
                self.follow(&key, None);
            }
        }
        for document in documents {
            self.follow(&document.key, Some(&document.text));
        }
    }
}

impl Node {
    /// The event types of the catalogue, by name, from memory.
    pub(crate) fn event_types(&self) -> Vec<Arc<CatalogueType>> {
        self.installation().catalogue.all()
    }

    /// The names of the event types that are offered in forms.
    pub(crate) fn offered_event_types(&self) -> Vec<String> {
        let offered = self.event_types().into_iter().filter(|it| !it.archived);
        offered.map(|it| it.name.to_string()).collect()
    }

    /// An event type of the catalogue, from memory.
    pub(crate) fn event_type(&self, name: &EventType) -> Option<Arc<CatalogueType>> {
        self.installation().catalogue.get(name)
    }

    /// Makes or replaces an event type. Answers with it, and whether it is new.
    ///
    /// # Errors
    /// A setting is out of its bounds; it exists although it has to be new, or there is no room (a conflict); the store did
    /// not do it.
    pub(crate) async fn put_event_type(
        &self,
        settings: EventTypeSettings,
        only_new: bool,
        now: Instant,
    ) -> Result<(CatalogueType, bool), Error> {
        let checked = tokio::task::spawn_blocking(move || settings.check().map(|()| settings));
        let stopped = |_| Err(Error::busy("the dispatcher stopped during the change"));
        let settings = checked.await.unwrap_or_else(stopped)?;
        let installation = Arc::clone(self.installation());
        let write = move || {
            let replaced = installation.catalogue.replaced(settings, only_new, now)?;
            let text = serde_json::to_string(&replaced.0);
            let text = text.map_err(|error| Error::store(error.to_string()))?;
            let key = CatalogueType::key(&replaced.0.name);
            let document = SettingDocument { key, text, used_on: None };
            Ok((SettingWrite::PutDocument(document), replaced))
        };
        self.settings_writer().change_document(write).await
    }

    /// Deletes an event type from the catalogue.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub(crate) async fn delete_event_type(&self, name: EventType) -> Result<(), Error> {
        let installation = Arc::clone(self.installation());
        let write = move || {
            let known = installation.catalogue.get(&name);
            known.ok_or_else(|| Error::not_found("event type"))?;
            Ok((SettingWrite::DeleteDocument(CatalogueType::key(&name)), ()))
        };
        self.settings_writer().change_document(write).await
    }

    /// The API key with this hash, whether or not it has expired, as this node knows it:
    /// [`sync_settings`](Self::sync_settings) first.
    pub(crate) fn api_key(&self, hash: KeyHash) -> Option<Arc<ApiKey>> {
        self.installation().keys.find(hash)
    }

    /// All API keys with the days of their last uses, in days since 1970, the oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) async fn api_keys(&self) -> Result<Vec<(ApiKey, Option<u32>)>, Error> {
        let documents = self.store().documents().await?;
        Ok(documents.iter().filter_map(key_ring::listed).collect())
    }

    /// Writes a new API key, which has been checked.
    ///
    /// # Errors
    /// Its application is not there; there are too many keys (a conflict); the store did not do it.
    pub(crate) async fn add_api_key(&self, key: ApiKey) -> Result<(), Error> {
        let (installation, node) = (Arc::clone(self.installation()), self.clone());
        let write = move || {
            installation.keys.check_room()?;
            if let Some(id) = key.application {
                node.application(id).ok_or_else(|| Error::not_found("application"))?;
            }
            Ok((SettingWrite::PutDocument(key_ring::document(&key)?), ()))
        };
        self.settings_writer().change_document(write).await
    }

    /// Deletes an API key: it is refused from now on. Answers with its name.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub(crate) async fn delete_api_key(&self, id: ApiKeyId) -> Result<String, Error> {
        let installation = Arc::clone(self.installation());
        let write = move || {
            let known = installation.keys.get(id).ok_or_else(|| Error::not_found("API key"))?;
            Ok((SettingWrite::DeleteDocument(key_ring::key_of(id)), known.name.clone()))
        };
        self.settings_writer().change_document(write).await
    }

    /// Deletes the keys that are limited to an application that is gone: they give access to nothing.
    pub(super) async fn delete_keys_of(&self, application: ApplicationId) {
        for id in self.installation().keys.limited_to(application) {
            if let Err(error) = self.delete_api_key(id).await {
                tracing::warn!(%error, api_key = %id, "API key of a deleted application not deleted");
            }
        }
    }

    /// Notes that a key was used at `now`: once a day for each key, beside the call that used it.
    pub(crate) fn note_key_use(&self, id: ApiKeyId, now: Instant) {
        let day = now.as_nanos() / 1_000_000_000 / DAY;
        // OK because there are far fewer days than that until the year 2500, in which instants end.
        let day = u32::try_from(day).unwrap_or(u32::MAX);
        if !self.installation().keys.is_first_use(id, day) {
            return;
        }
        let node = self.clone();
        tokio::spawn(async move {
            let noted = node.store().note_document_use(key_ring::key_of(id), day).await;
            if let Err(error) = noted {
                tracing::warn!(%error, api_key = %id, "use of an API key not noted");
            }
        });
    }
}
