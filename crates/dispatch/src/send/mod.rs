//! The way out: one attempt, from the name of the receiver to the verdict's facts.

mod sender;

pub use sender::{SendOptions, Sender};
