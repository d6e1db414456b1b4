#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod dice;
mod model;
mod objective;
mod outage;
mod paired;
mod reference;
mod search;
mod source;
mod space;
mod trial;
mod tuning;
mod words;
mod world;

pub use model::WorldModel;
pub use objective::{CallObjective, WorldFigures};
pub use outage::OutageRange;
pub use paired::{DifferenceVerdict, PairedDifference};
pub use reference::{AWS, CHOOSE, DEFAULT, ENVOY, NO_RETRY};
pub use source::WorldSource;
pub use tuning::{TuneOptions, TuneReport, TuneVerdict, TunedRow, least_events, play, tune};
pub use words::summary;
pub use world::WorldTemplate;
