//! Where everything durable is kept: one contract, several stores.

mod page;
mod settlement;
mod store;

pub use page::{Cursor, DeliveryFilter, MessageFilter, Page, PageRequest};
pub use settlement::{Fence, Settlement};
pub use store::{Accepted, Counts, Pruned, ReplayRequest, Store};
