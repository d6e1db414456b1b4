//! The promises of every integration of stagger, run for each of them over real sockets.
//!
//! A [`Promise`] is a name, the section of the specification, and a check that an [`Integration`] has
//! to pass against a server with faults. [`grid`] runs each for each.

mod asynch;
mod blocking;
mod defaults;
mod grid;
mod integration;
// The programs of these pages are compiled here: a package that is published has no pages around it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guides/comparison.md")]
#[doc = include_str!("../../../docs/guides/integration.md")]
#[doc = include_str!("../../../docs/guides/migrating.md")]
#[doc = include_str!("../../../docs/guides/queues.md")]
mod pages {}
mod promise;
mod promises;
mod proxy;
mod reqwest;
mod tonic;
mod tower;

pub use asynch::Async;
pub use blocking::Blocking;
pub use defaults::DEFAULTS;
pub use grid::{ContractGrid, ContractRow, all, grid};
pub use integration::{Ask, CallOutcome, ContractCaller, Integration, Later};
pub use promise::{Checks, ContractCell, Promise};
pub use promises::PROMISES;
pub use proxy::ThroughProxy;
pub use reqwest::{ReqwestClient, ReqwestMiddleware, gcs_retry};
pub use tonic::Tonic;
pub use tower::{TowerClone, TowerHttp};
