//! Scenario files that ship: each is played by its name.

mod models;
mod outages;
mod shipped_scenario;

pub(crate) use shipped_scenario::ShippedScenario;
