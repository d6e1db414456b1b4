//! Tokio's paused clock: each client is an `async fn`, as a test of real code would have it.
//!
//! Its timers have a granularity of a millisecond, so a few more clients are served than elsewhere.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::{Instant, sleep};

use crate::model::EventCounts;
use crate::model::{ATTEMPTS, Delays, UP};

static EVENTS: AtomicU64 = AtomicU64::new(0);
static SERVED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn run(clients: u32) -> Result<EventCounts, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let (delays, start) = (Delays::new(), Instant::now());
        let (alive, mut all_gone) = channel(1);
        for client in 0..clients {
            tokio::spawn(call(client, delays, start, alive.clone()));
        }
        drop(alive);
        let _ = all_gone.recv().await;
    });
    let (events, served) = (EVENTS.load(Ordering::Relaxed), SERVED.load(Ordering::Relaxed));
    Ok(EventCounts { events, served })
}

async fn call(client: u32, delays: Delays, start: Instant, _alive: Sender<()>) {
    let up = start + Duration::from_nanos(UP.as_nanos());
    for attempt in 1..=ATTEMPTS {
        if Instant::now() >= up {
            SERVED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if attempt < ATTEMPTS {
            sleep(delays.after(client, attempt)).await;
            EVENTS.fetch_add(1, Ordering::Relaxed);
        }
    }
}
