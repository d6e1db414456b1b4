//! Retry settings of gRPC, Envoy, resilience4j and Polly as policies, with what could not be mapped.
//!
//! ```
//! use stagger_import::{ImportSource, import};
//! let text = r#"{ "retry_policy": { "retry_on": "5xx", "num_retries": 3 } }"#;
//! let imported = import(text, None)?;
//! let (_, policy) = &imported.policies[0];
//! assert_eq!(imported.source, ImportSource::Envoy);
//! assert_eq!(policy.limits().max_attempts(), Some(4), "the first attempt counts here");
//! assert_eq!(imported.left_out[0].path, "retry_policy.retry_on");
//! # Ok::<(), stagger_import::ImportError>(())
//! ```
#![forbid(unsafe_code)]

mod duration;
mod envoy;
mod error;
mod grpc;
mod import;
mod imported;
mod polly;
mod resilience4j;
mod source;
mod table;
mod tree;

pub use error::ImportError;
pub use import::import;
pub use imported::{Imported, LeftOut};
pub use source::ImportSource;
