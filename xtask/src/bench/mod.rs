//! What things cost, measured on this machine: `cargo xtask bench core` and `cargo xtask bench peers`.

mod chore;
mod core;
mod peers;

pub(crate) use chore::{Bench, run};
