//! The settings of the API.

use std::num::NonZeroU32;

use crate::model::KeyHash;

/// The settings of the API; its bounds against large and many requests.
#[derive(Clone, Copy, Debug)]
pub struct ApiOptions {
    /// The key that may do everything, if there is one: default none.
    pub admin: Option<KeyHash>,
    /// Requests a second that each application may make, messages of a batch counted one by one:
    /// default no bound but the store's own pace.
    pub rate: Option<NonZeroU32>,
    /// Bytes of a request's body: default 1 MiB.
    pub max_body: usize,
    /// Bytes of a message's payload: default 256 KiB.
    pub max_payload: usize,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self { admin: None, rate: None, max_body: 1 << 20, max_payload: 256 << 10 }
    }
}
