//! The settings of a dispatcher: a TOML file, below the environment, below the command line.
//!
//! Every setting is one line of a table, `settings`, with its bound: so a file, a variable and a flag are
//! read by the same code and refused in the same words.

mod apply;
mod encryption;
mod oidc;
mod portal;
mod settings;
mod source;
#[cfg(all(test, feature = "nats"))]
mod source_test;
mod values;

pub use apply::ConfigFault;
pub use encryption::{EncryptionSettings, KeyLines};
pub use oidc::OidcSettings;
pub use portal::{Accent, PortalSettings};
pub(crate) use source::SourceKind;
pub use source::SourceSettings;
pub use values::{AdminKey, Config, NoRedisUrl, RedisUrl, StoreKind};
