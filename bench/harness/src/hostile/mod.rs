//! Attacks on the dispatcher by one client or tenant, and what they cost another one.

mod attack;
mod attacker;
mod chore;
mod flood;
mod site;
mod victim;

pub(crate) use chore::{Hostile, run};
