//! What processes remember of their destination: the engine's ledgers, and those of others.

mod book;
mod deposit;
mod intervals;
mod leased;
mod lifetime;
mod shelf;
mod store;
mod window_block;

pub(crate) use leased::Request;
pub(crate) use shelf::Shelf;
