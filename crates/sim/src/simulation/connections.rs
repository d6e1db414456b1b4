//! The connections of each process, and who waits for one.

use std::collections::VecDeque;

use stagger_core::Instant;

use super::slab::Ticket;
use crate::plan::Fleet;

/// Pools by process; none when connections are without limit.
#[derive(Debug)]
pub(super) struct Connections {
    pools: Vec<ConnectionPool>,
    count: u32,
}

#[derive(Clone, Debug, Default)]
struct ConnectionPool {
    taken: u32,
    waiting: VecDeque<(Ticket, Instant)>,
}

impl Connections {
    pub(super) fn new(fleet: &Fleet) -> Self {
        let count = fleet.connections.map(|rule| rule.count);
        let pools = count.map_or(0, |_| fleet.processes.max(1)) as usize;
        Self { pools: vec![ConnectionPool::default(); pools], count: count.unwrap_or(u32::MAX) }
    }

    /// Whether connections are without limit.
    #[inline]
    pub(super) const fn are_free(&self) -> bool {
        self.pools.is_empty()
    }

    /// Takes a connection if one is left.
    pub(super) fn take(&mut self, process: u32) -> bool {
        let Some(pool) = self.pools.get_mut(process as usize) else { return true };
        let left = pool.taken < self.count;
        pool.taken += u32::from(left);
        left
    }

    /// An attempt waits for its turn.
    pub(super) fn wait(&mut self, process: u32, ticket: Ticket, give_up: Instant) {
        if let Some(pool) = self.pools.get_mut(process as usize) {
            pool.waiting.push_back((ticket, give_up));
        }
    }

    /// A connection is free: it goes to the first attempt that takes it, or back to the pool.
    pub(super) fn release(
        &mut self,
        process: u32,
        mut takes: impl FnMut(Ticket) -> bool,
    ) -> Option<(Ticket, Instant)> {
        let pool = self.pools.get_mut(process as usize)?;
        while let Some((ticket, give_up)) = pool.waiting.pop_front() {
            if takes(ticket) {
                return Some((ticket, give_up));
            }
        }
        pool.taken -= 1;
        None
    }
}
