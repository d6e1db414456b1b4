//! Settings of the whole installation: the catalogue of event types, and the API keys.

use stagger_scheduler::model::EventValidation;
use stagger_store::{DocumentKey, DocumentKind, SettingDocument};

use super::catalogue::Catalogue;
use super::key_ring::KeyRing;

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
