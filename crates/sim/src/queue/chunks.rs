//! Lists of events in small chunks, out of one pool.

use super::Event;

/// A list of chunks; only its newest one may have room.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    /// Events in the head chunk.
    fill: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, fill: FULL };
}

/// Chunks of events, used again as soon as they are empty.
///
/// Every chunk is an allocation of its own, so the pool grows without moving an event, and what it
/// holds at most is what it takes from the system.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    #[expect(clippy::vec_box, reason = "so that chunks stay where they are while the list grows")]
    chunks: Vec<Box<[Event; CHUNK]>>,
    /// The next chunk of the same list.
    links: Vec<u32>,
    free: Vec<u32>,
    /// The chunks of one list with their fills, while it is read.
    order: Vec<(u32, u32)>,
}

impl Pool {
    /// Adds an event to a list.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, event: Event) {
        if list.fill == FULL {
            self.grow(list);
        }
        self.chunks[list.head as usize][list.fill as usize % CHUNK] = event;
        list.fill += 1;
    }

    /// Forgets all lists and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.free.clear();
        let all = (0_u32..).zip(&self.chunks).map(|(chunk, _)| chunk);
        self.free.extend(all);
    }

    /// The chunks of a list in the order in which its events came.
    pub(super) fn chunks(&mut self, list: List) -> impl Iterator<Item = &[Event]> + Clone {
        self.put_in_order(list);
        let chunks = &self.chunks;
        self.order.iter().rev().map(|&(chunk, fill)| &chunks[chunk as usize][..fill as usize])
    }

    /// Frees the chunks of a list.
    pub(super) fn release(&mut self, list: List) {
        let mut head = list.head;
        while head != NONE {
            self.free.push(head);
            head = self.links[head as usize];
        }
    }

    /// Takes a list apart: each of its chunks, the oldest first, to be given to
    /// [`copy_and_free`](Self::copy_and_free).
    pub(super) fn take_apart(&mut self, list: List) -> Vec<(u32, u32)> {
        self.put_in_order(list);
        self.order.iter().rev().copied().collect()
    }

    /// The events of a chunk, in a copy; the chunk is free.
    pub(super) fn copy_and_free(&mut self, (chunk, fill): (u32, u32)) -> ([Event; CHUNK], usize) {
        self.free.push(chunk);
        (*self.chunks[chunk as usize], fill as usize)
    }

    /// Makes `order` the chunks of this list, the newest first.
    fn put_in_order(&mut self, list: List) {
        self.order.clear();
        let (mut head, mut fill) = (list.head, list.fill);
        while head != NONE {
            self.order.push((head, fill));
            (head, fill) = (self.links[head as usize], FULL);
        }
    }

    #[cold]
    fn grow(&mut self, list: &mut List) {
        let chunk = self.free.pop().unwrap_or_else(|| {
            let chunk = u32::try_from(self.chunks.len())
                .expect("2^32 chunks are 8 TiB of events, which no machine holds");
            self.chunks.push(Box::new([Event::LAST; CHUNK]));
            self.links.push(NONE);
            chunk
        });
        self.links[chunk as usize] = list.head;
        *list = List { head: chunk, fill: 0 };
    }
}

/// Events in a chunk: 2 KiB, small enough that a thousand callers in as many buckets stay in cache.
const CHUNK: usize = FULL as usize;
/// The fill of a chunk without room.
const FULL: u32 = 64;
/// No chunk.
const NONE: u32 = u32::MAX;
