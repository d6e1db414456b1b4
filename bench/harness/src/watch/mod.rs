//! Storms and calm loads of the lab as access logs, and what the detector says of them: `cargo xtask watch`.

mod calm_loads;
mod chore;
mod log_lines;
mod storms;
mod truth;
mod world;

pub(crate) use chore::{Watch, run};
