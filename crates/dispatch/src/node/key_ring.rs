//! The API keys in memory, and the days of their last uses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use stagger::Instant;
use stagger_scheduler::model::{ApiKeyId, ApplicationId, KeyHash};
use stagger_store::{DocumentKey, DocumentKind, SettingDocument};

use crate::Error;
use crate::access::{ApiKey, Scope};

/// Most API keys: all are listed in one reply.
pub(super) const MAX_KEYS: usize = 1_000;

/// The keys, as the store has them.
#[derive(Debug, Default)]
pub(super) struct KeyRing {
    keys: RwLock<Keys>,
    /// The last day of each key's use that this node has noted.
    used: Mutex<HashMap<ApiKeyId, u32>>,
}

#[derive(Debug, Default)]
struct Keys {
    by_id: HashMap<ApiKeyId, Arc<ApiKey>>,
    by_hash: HashMap<KeyHash, ApiKeyId>,
}

impl KeyRing {
    /// The key with this hash, whether or not it has expired.
    pub(super) fn find(&self, hash: KeyHash) -> Option<Arc<ApiKey>> {
        let keys = self.read();
        let key = keys.by_id.get(keys.by_hash.get(&hash)?)?;
        key.is(hash).then(|| Arc::clone(key))
    }

    pub(super) fn get(&self, id: ApiKeyId) -> Option<Arc<ApiKey>> {
        self.read().by_id.get(&id).cloned()
    }

    /// # Errors
    /// A conflict: there are too many already.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        if self.read().by_id.len() >= MAX_KEYS {
            return Err(Error::conflict(format!("there are {MAX_KEYS} API keys already")));
        }
        Ok(())
    }

    /// The keys that are limited to an application.
    pub(super) fn limited_to(&self, application: ApplicationId) -> Vec<ApiKeyId> {
        let keys = self.read();
        let limited = keys.by_id.values().filter(|key| key.application == Some(application));
        limited.map(|key| key.id).collect()
    }

    /// Whether this is the first use of a key on `day` that this node sees.
    pub(super) fn is_first_use(&self, id: ApiKeyId, day: u32) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = used.insert(id, day);
        noted.is_none_or(|noted| noted < day)
    }

    /// Follows a changed document; `None` if it was deleted. One that cannot be read is as if it were deleted.
    pub(super) fn follow(&self, id: &str, document: Option<&str>) {
        let Ok(id) = id.parse::<ApiKeyId>() else { return };
        let read = document.and_then(|text| {
            let key = read(id, text);
            if key.is_none() {
                tracing::warn!(api_key = %id, "API key not readable");
            }
            key
        });
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = keys.by_id.remove(&id) {
            keys.by_hash.remove(&before.hash);
        }
        match read {
            Some(key) => {
                keys.by_hash.insert(key.hash, id);
                keys.by_id.insert(id, Arc::new(key));
            }
            None => drop(self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)),
        }
    }

    /// The ids of all documents.
    pub(super) fn ids(&self) -> Vec<String> {
        self.read().by_id.keys().map(ToString::to_string).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a key's document.
pub(super) fn key_of(id: ApiKeyId) -> DocumentKey {
    DocumentKey::new(DocumentKind::ApiKey, id.to_string())
}

/// A key as its document has it.
#[derive(Serialize, Deserialize)]
struct KeyDocument {
    name: String,
    /// The base64 of the hash.
    hash: String,
    scopes: Vec<Scope>,
    application: Option<ApplicationId>,
    /// Nanoseconds since the Unix epoch.
    created_at: u64,
    expires_at: Option<u64>,
}

/// The document of a key.
///
/// # Errors
/// It cannot be written as JSON.
pub(super) fn document(key: &ApiKey) -> Result<SettingDocument, Error> {
    let text = serde_json::to_string(&KeyDocument {
        name: key.name.clone(),
        hash: STANDARD.encode(key.hash.as_bytes()),
        scopes: key.scopes.clone(),
        application: key.application,
        created_at: key.created_at.as_nanos(),
        expires_at: key.expires_at.map(Instant::as_nanos),
    });
    let text = text.map_err(|error| Error::store(error.to_string()))?;
    Ok(SettingDocument { key: key_of(key.id), text, used_on: None })
}

fn read(id: ApiKeyId, text: &str) -> Option<ApiKey> {
    let document: KeyDocument = serde_json::from_str(text).ok()?;
    let hash: [u8; 32] = STANDARD.decode(document.hash).ok()?.try_into().ok()?;
    Some(ApiKey {
        id,
        name: document.name,
        hash: KeyHash::from_bytes(hash),
        scopes: document.scopes,
        application: document.application,
        created_at: Instant::from_nanos(document.created_at),
        expires_at: document.expires_at.map(Instant::from_nanos),
    })
}

/// A key with the day of its last use, from its document.
pub(super) fn listed(document: &SettingDocument) -> Option<(ApiKey, Option<u32>)> {
    let is_key = document.key.kind == DocumentKind::ApiKey;
    let id = is_key.then(|| document.key.id.parse().ok()).flatten()?;
    Some((read(id, &document.text)?, document.used_on))
}
