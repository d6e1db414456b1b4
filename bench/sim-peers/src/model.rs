//! Model P: the numbers that every engine shares.

use std::time::Duration;

use stagger_core::{Backoff, Instant, Span};
use stagger_sim::{Law, Purpose, RandomStream, Schedule};

pub(crate) const SEED: u64 = 42;
pub(crate) const ATTEMPTS: u32 = 4;
/// The time from which the server is up.
pub(crate) const UP: Span = Span::from_secs(1);
pub(crate) const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(500), cap: Span::from_secs(10), attempts: ATTEMPTS };

/// The delays of all clients: the engine's rule and the lab's draws.
#[derive(Clone, Copy)]
pub(crate) struct Delays {
    rule: Backoff,
    draws: RandomStream,
}

impl Delays {
    pub(crate) fn new() -> Self {
        let rule = Law::Full.backoff(&SCHEDULE).expect("the cap is above the base");
        Self { rule, draws: RandomStream::new(SEED, Purpose::Delay) }
    }

    /// The wait of `client` after a failure at this attempt, counted from 1.
    pub(crate) fn after(&self, client: u32, attempt: u32) -> Duration {
        let mut draw = self.draws.at(client, attempt);
        Duration::from_nanos(self.rule.delay(attempt, self.rule.base(), &mut draw).as_nanos())
    }
}

pub(crate) fn up() -> Instant {
    Instant::ORIGIN + UP
}
