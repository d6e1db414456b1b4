//! One call, step by step: the retry machine, its session and its ledger.

mod cases;
mod destinations;
mod first;
mod hedging;
mod order;
mod pause;
mod random;
mod reconnect;
mod remedies;
mod saved;
mod script;
