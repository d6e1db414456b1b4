//! The API keys as callers make, list and delete them.

use std::sync::Arc;

use stagger::Instant;
use stagger_scheduler::model::{ApiKeyId, ApplicationId, KeyHash};
use stagger_store::SettingWrite;

use super::{Node, key_ring};
use crate::Error;
use crate::access::ApiKey;

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

impl Node {
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
