#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cancel;
mod clock;
#[cfg(feature = "http")]
pub mod http;
mod ledger;
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../../docs/guides/migrating.md")]
mod migrating {}
pub mod observe;
mod poll;
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guides/integration.md")]
mod readme {}
#[cfg(feature = "reqwest")]
pub mod reqwest;
mod rng;
mod run;
#[cfg(feature = "tonic")]
pub mod tonic;
#[cfg(feature = "tower")]
pub mod tower;

pub use cancel::Cancel;
#[cfg(feature = "tokio")]
pub use clock::TokioTime;
pub use clock::{Clock, Pause, Sleep, StdTime};
pub use ledger::{LedgerStats, Ledgers, LocalLedger};
#[cfg(feature = "redis")]
pub use ledger::{
    SharedLedger, SharedLedgers, SharedOptions, SharedStats, SharedStore, StoreError, StoreFallback,
};
pub use poll::{PollError, PollStop, Poller, Progress};
pub use rng::{OsEntropy, Rng};
pub use run::{
    AttemptEnd, AttemptInfo, Batch, ByError, ByResult, ByType, CallReport, Classifier, Classify,
    ContextGuard, Error, History, NextStep, Retrier, RetryIf, Run, SettledAttempt,
};
// All of the engine, so that its words have one path here and none can be forgotten.
#[doc(inline)]
pub use stagger_core::*;
