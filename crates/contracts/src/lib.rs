//! The promises of every integration of stagger, run for each of them over real sockets.
//!
//! A [`Promise`] is a name, the section of the specification, and a check that an [`Integration`] has
//! to pass against a server with faults. [`grid`] runs each for each.

mod asynch;
mod blocking;
mod call;
mod cell;
mod defaults;
mod gcs;
mod grid;
mod hyper;
mod integration;
mod promise;
mod promises;
mod reqwest;
mod tonic;
mod tower;

pub use asynch::{Async, Hedged};
pub use blocking::Blocking;
pub use call::{Ask, CallOutcome};
pub use cell::{Checks, ContractCell};
pub use defaults::DEFAULTS;
pub use gcs::gcs_retry;
pub use grid::{ContractGrid, ContractRow, all, grid};
pub use integration::{ContractCaller, Integration, Later};
pub use promise::Promise;
pub use promises::PROMISES;
pub use reqwest::{ReqwestClient, ReqwestMiddleware};
pub use tonic::Tonic;
pub use tower::{TowerClone, TowerHttp};
