//! Storage for callers with attempts under way.

use stagger_core::Instant;
use stagger_core::retry::{Detached, Launched};

/// The identity of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallIdentity {
    pub(super) id: u32,
    /// The client, which decides the process; the id where each call has its own.
    pub(super) client: u32,
    /// The slot of the caller; [`NOWHERE`] while it is not kept.
    pub(super) slot: u32,
    pub(super) layer: u8,
    /// The number of the source of arrivals that it came from.
    pub(super) source: u8,
    pub(super) shard: u32,
    pub(super) ledger: u32,
    /// The attempt of the caller one layer further out that this call is made for.
    pub(super) parent: Option<Ticket>,
}

/// One attempt of one caller that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) id: u32,
    pub(super) slot: u32,
    pub(super) number: u32,
}

/// No slot.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A caller in the middle of its call.
#[derive(Clone, Debug)]
pub(super) struct StoredCall {
    pub(super) who: CallIdentity,
    pub(super) call: Detached,
    /// The instant at which the next copy is due, if an event says so.
    pub(super) hedge_at: Option<Instant>,
    /// Attempts under way: nearly always one.
    pub(super) flights: Vec<AttemptInFlight>,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptInFlight {
    pub(super) launched: Launched,
    pub(super) since: Instant,
    /// Whether it holds a connection of its process: not while it waits for one, nor on its way to
    /// an inner layer.
    pub(super) connected: bool,
}

/// Callers by slot; slots are used again.
#[derive(Debug, Default)]
pub(super) struct Slab {
    kept: Vec<Option<StoredCall>>,
    free: Vec<u32>,
    /// Lists of flights to use again.
    spare: Vec<Vec<AttemptInFlight>>,
}

impl Slab {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.free.clear();
    }

    /// Keeps a caller, where it was kept before if it was.
    #[inline]
    pub(super) fn keep(&mut self, who: &mut CallIdentity, call: Detached) {
        if who.slot != NOWHERE {
            if let Some(kept) = &mut self.kept[who.slot as usize] {
                kept.call = call;
            }
            return;
        }
        let slot = self.free.pop();
        let last = self.kept.len();
        who.slot = slot.unwrap_or_else(|| u32::try_from(last).expect("fewer slots than ids"));
        let flights = self.spare.pop().unwrap_or_default();
        let kept = Some(StoredCall { who: *who, call, hedge_at: None, flights });
        match slot {
            Some(slot) => self.kept[slot as usize] = kept,
            None => self.kept.push(kept),
        }
    }

    /// The caller of this id, if it is still in this slot.
    #[inline]
    pub(super) fn get(&mut self, slot: u32, id: u32) -> Option<&mut StoredCall> {
        self.kept.get_mut(slot as usize)?.as_mut().filter(|kept| kept.who.id == id)
    }

    /// Whether the caller still waits for this attempt.
    #[inline]
    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        let kept = self.kept.get(ticket.slot as usize).and_then(Option::as_ref);
        kept.is_some_and(|kept| {
            kept.who.id == ticket.id
                && kept.flights.iter().any(|flight| flight.launched.attempt.number == ticket.number)
        })
    }

    /// Whether the outermost caller still waits for the call that this attempt belongs to.
    pub(super) fn is_wanted(&self, ticket: Ticket) -> bool {
        let mut next = Some(ticket);
        while let Some(ticket) = next {
            if !self.waits_for(ticket) {
                return false;
            }
            let kept = self.kept.get(ticket.slot as usize).and_then(Option::as_ref);
            next = kept.and_then(|kept| kept.who.parent);
        }
        true
    }

    /// An attempt that waited for a connection has one; false when its caller waits no longer.
    pub(super) fn connect(&mut self, ticket: Ticket) -> bool {
        let Some(kept) = self.get(ticket.slot, ticket.id) else { return false };
        let mut flights = kept.flights.iter_mut();
        let flight = flights.find(|flight| flight.launched.attempt.number == ticket.number);
        flight.map(|flight| flight.connected = true).is_some()
    }

    /// Lets a caller go, and gives the attempts that are still under way.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) -> Vec<AttemptInFlight> {
        self.free.push(slot);
        self.kept[slot as usize].take().map_or_else(Vec::new, |kept| kept.flights)
    }

    /// Takes a list of flights back for its memory.
    #[inline]
    pub(super) fn recycle(&mut self, mut flights: Vec<AttemptInFlight>) {
        flights.clear();
        self.spare.push(flights);
    }
}
