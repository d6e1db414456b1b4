//! The names of an entry, and which of them a method path meets first.

use alloc::string::String;

use serde::Deserialize;

use crate::error::ConfigError;

/// What an entry is for: one method, all of a service, or everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "NameText")]
pub(super) struct Name {
    service: String,
    method: String,
}

impl Name {
    /// The names that a path such as `/package.Service/Method` answers to, the closest first
    /// (gRFC A2 and doc/service_config.md: the method, its service, the default).
    pub(super) fn of(path: &str) -> [Self; 3] {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (service, method) = path.rsplit_once('/').unwrap_or((path, ""));
        let name =
            |service: &str, method: &str| Self { service: service.into(), method: method.into() };
        [name(service, method), name(service, ""), name("", "")]
    }
}

#[derive(Deserialize)]
struct NameText {
    service: Option<String>,
    method: Option<String>,
}

impl TryFrom<NameText> for Name {
    type Error = ConfigError;

    fn try_from(text: NameText) -> Result<Self, ConfigError> {
        let service = text.service.unwrap_or_default();
        let method = text.method.unwrap_or_default();
        if service.is_empty() && !method.is_empty() {
            let bound = "left out when name.service is";
            return Err(ConfigError::new("methodConfig.name.method", method, bound));
        }
        Ok(Self { service, method })
    }
}

impl core::fmt::Display for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "/{}/{}", self.service, self.method)
    }
}
