//! NeXosim, one thread: one model holds all clients, each of which schedules its own next attempt.
//!
//! A model for each client would be the idiom for a few; a mailbox each is too much for a million.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::model::EventCounts;
use crate::model::{ATTEMPTS, Delays, UP};

static EVENTS: AtomicU64 = AtomicU64::new(0);
static SERVED: AtomicU64 = AtomicU64::new(0);

#[derive(Serialize, Deserialize)]
struct Clients {
    count: u32,
    #[serde(skip, default = "Delays::new")]
    delays: Delays,
}

#[Model]
impl Clients {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        for client in 0..self.count {
            self.wait(client, 1, cx);
        }
    }

    /// A client makes this attempt.
    #[nexosim(schedulable)]
    async fn attempt(&mut self, (client, attempt): (u32, u32), cx: &Context<Self>) {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        let up = MonotonicTime::EPOCH + std::time::Duration::from_nanos(UP.as_nanos());
        if cx.time() >= up {
            SERVED.fetch_add(1, Ordering::Relaxed);
        } else if attempt < ATTEMPTS {
            self.wait(client, attempt, cx);
        }
    }

    fn wait(&self, client: u32, failed: u32, cx: &Context<Self>) {
        let next = (client, failed + 1);
        let delay = self.delays.after(client, failed);
        cx.schedule_event(delay, schedulable!(Self::attempt), next).expect("it lies ahead");
    }
}

pub(crate) fn run(count: u32) -> Result<EventCounts, Box<dyn Error>> {
    let clients = Clients { count, delays: Delays::new() };
    let bench = SimInit::with_num_threads(1).add_model(clients, Mailbox::new(), "clients");
    let mut simulation = bench.init(MonotonicTime::EPOCH)?;
    simulation.run()?;
    let (events, served) = (EVENTS.load(Ordering::Relaxed), SERVED.load(Ordering::Relaxed));
    Ok(EventCounts { events, served })
}
