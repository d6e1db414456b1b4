//! The shop that every program asks: it fails by a script, and counts how often it is asked.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The failure of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It will heal.
    Busy,
    /// It will not.
    Gone,
}

impl Fault {
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_busy() { "busy" } else { "gone" })
    }
}

impl Error for Fault {}

struct ScriptedServer {
    /// The faults of the next attempts; those after them succeed.
    faults: VecDeque<Fault>,
    busy_until: Option<Instant>,
    asked: u32,
}

static SHOP: Mutex<ScriptedServer> =
    Mutex::new(ScriptedServer { faults: VecDeque::new(), busy_until: None, asked: 0 });

/// One attempt to learn the stock of an item.
pub async fn fetch(item: &str) -> Result<usize, Fault> {
    answer().map(|()| item.len())
}

/// A log that nobody reads.
pub fn log(_: String) {}

/// The answer to the next attempt.
pub(crate) fn answer() -> Result<(), Fault> {
    let mut shop = shop();
    shop.asked += 1;
    if shop.busy_until.is_some_and(|until| Instant::now() < until) {
        return Err(Fault::Busy);
    }
    shop.faults.pop_front().map_or(Ok(()), Err)
}

/// From now on the next attempts fail so, and all attempts within `outage` are busy.
pub(crate) fn fail(faults: &[Fault], outage: Duration) {
    let busy_until = (!outage.is_zero()).then(|| Instant::now() + outage);
    *shop() = ScriptedServer { faults: faults.iter().copied().collect(), busy_until, asked: 0 };
}

/// The number of attempts since the last [`fail`].
pub(crate) fn asked() -> u32 {
    shop().asked
}

fn shop() -> MutexGuard<'static, ScriptedServer> {
    SHOP.lock().unwrap_or_else(PoisonError::into_inner)
}
