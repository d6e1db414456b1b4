//! What a run is made of, as data: nothing here draws a number or knows the time.

mod arrivals;
mod backend;
mod caller;
mod fault;
mod fleet;
mod network;
mod ramp;
mod watch;

pub use arrivals::{Arrivals, Times};
pub use backend::{Backend, Cancel, ColdStart, Full, Limit, Order, Service, Workers};
pub use caller::{Caller, Foreign};
pub use fault::{Fault, Trouble};
pub use fleet::{Away, Book, Connections, Deposit, Fleet, Paying, Scope, Shared};
pub use network::Hop;
pub use ramp::Ramp;
pub use watch::{Recovery, Watch};

/// Everything that a run is made of, except its seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// When callers make their first attempt; several sources run side by side.
    pub arrivals: Vec<Arrivals>,
    /// The way to the backend and back.
    pub hop: Hop,
    /// The callers, outermost first: each calls the next one, and the last calls the backend.
    /// Never empty.
    pub callers: Vec<Caller>,
    /// The processes that the callers live in, and what those remember.
    pub fleet: Fleet,
    /// What answers.
    pub backend: Backend,
    /// What goes wrong with it, and when.
    pub faults: Vec<Fault>,
    /// What is looked at.
    pub watch: Watch,
}

impl Plan {
    /// One layer of callers who never retry, and a backend that serves everybody at once.
    #[must_use]
    pub fn new(arrivals: Arrivals, caller: Caller) -> Self {
        Self {
            arrivals: vec![arrivals],
            hop: Hop::default(),
            callers: vec![caller],
            fleet: Fleet::default(),
            backend: Backend::default(),
            faults: Vec::new(),
            watch: Watch::default(),
        }
    }
}
