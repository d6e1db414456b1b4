//! What every store promises that several nodes share.

mod arrivals;
mod entering;
mod loading;
mod members;
mod news;
mod orders;
mod scene;
mod shards;
mod suite;

pub(crate) use arrivals::*;
pub(crate) use entering::*;
pub(crate) use loading::*;
pub(crate) use members::*;
pub(crate) use news::*;
pub(crate) use orders::*;
pub(crate) use shards::*;
pub(crate) use suite::cluster_suite;
