//! The catalogue of event types as callers read and change it.

use std::sync::Arc;

use stagger::Instant;
use stagger_scheduler::model::EventType;
use stagger_store::{SettingDocument, SettingWrite};

use super::Node;
use super::catalogue::{CatalogueType, EventTypeSettings};
use crate::Error;

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
}
