#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod breaker;
mod budget;
mod events;
mod ledger;
mod ledgers;
mod link;
#[cfg(feature = "metrics")]
mod metrics;
mod options;
mod stats;
mod store;
mod wake;

pub use ledger::SharedLedger;
pub use ledgers::SharedLedgers;
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use metrics::{describe_shared, report_shared};
pub use options::{SharedOptions, StoreFallback};
pub use stats::SharedStats;
pub use store::{SharedStore, StoreError};
