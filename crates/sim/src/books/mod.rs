//! What processes remember of their destination: the engine's ledgers, and those of others.

mod book;
mod deposit;
mod leased;
mod lifetime;
mod shelf;

pub(crate) use leased::Request;
pub(crate) use shelf::Shelf;
