#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod document;
mod export;
mod exported;
mod formats;
mod import;
mod import_error;
mod imported;
mod key;
mod routes;
mod source;
mod spans;
mod table;

pub use document::SettingsDocument;
pub use exported::{Exported, LostKey, export};
pub use formats::PROXY_HEADERS;
pub use import::{import, import_documents, import_routes, is_known};
pub use import_error::ImportError;
pub use imported::{Imported, ImportedPolicy, LeftOut, UnknownDocument};
pub use routes::{ImportedRoute, ImportedRoutes, RepeatedRequests, ServerTls};
pub use source::{ImportSource, RetryLayer};
