//! The names of an entry, and which of them a method path meets first.

use alloc::string::String;

use serde::Deserialize;

use crate::error::ConfigError;

/// The name of the entry that is for everything.
const DEFAULT: &str = "//";

/// The path of an entry: `/service/method`, `/service/` for all of a service, or `//`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "NameText")]
pub(super) struct MethodName(pub(super) String);

/// The names that a path such as `/package.Service/Method` answers to, the closest first: the
/// method, its service, the default (gRPC's service_config.proto).
pub(super) fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let service = path.rfind('/').and_then(|slash| path.get(..=slash));
    [Some(path), service, Some(DEFAULT)].into_iter().flatten()
}

#[derive(Deserialize)]
struct NameText {
    service: Option<String>,
    method: Option<String>,
}

impl TryFrom<NameText> for MethodName {
    type Error = ConfigError;

    /// An empty part, a null and a missing one are the same (service_config.proto).
    fn try_from(text: NameText) -> Result<Self, ConfigError> {
        let service = text.service.unwrap_or_default();
        let method = text.method.unwrap_or_default();
        if service.is_empty() && !method.is_empty() {
            let bound = "left out where the service is";
            return Err(ConfigError::new("methodConfig.name.method", method, bound));
        }
        Ok(Self(alloc::format!("/{service}/{method}")))
    }
}
