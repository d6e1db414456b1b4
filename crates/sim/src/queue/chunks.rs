//! Lists of events in small chunks, out of one pool.

use super::CallerEvent;

/// A list of chunks; only its newest one may have room.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    /// Words used in the head chunk.
    fill: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, fill: FULL };
}

/// Chunks of events, used again as soon as they are empty.
///
/// An event takes four words of a chunk, or three or two when its last words are zero: a caller that
/// waits is half as large then. Every chunk is an allocation of its own, so the pool grows without
/// moving an event, and what it holds at most is what it takes from the system.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkPool {
    #[expect(clippy::vec_box, reason = "so that chunks stay where they are while the list grows")]
    chunks: Vec<Box<[u64; WORDS]>>,
    /// The next chunk of the same list, with its fill.
    links: Vec<List>,
    free: Vec<u32>,
    /// The chunks of one list with their fills, while it is read.
    order: Vec<List>,
}

/// The events of one chunk.
#[derive(Clone, Debug)]
pub(super) struct Events<'c> {
    chunk: &'c [u64; WORDS],
    next: usize,
    end: usize,
}

impl ChunkPool {
    /// Adds an event to a list.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, event: CallerEvent) {
        if list.fill >= FULL {
            self.grow(list);
        }
        let (record, words) = event.to_record();
        let at = list.fill as usize;
        self.chunks[list.head as usize][at..at + RECORD].copy_from_slice(&record);
        list.fill += words;
    }

    /// Forgets all lists and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.free.clear();
        let all = (0_u32..).zip(&self.chunks).map(|(chunk, _)| chunk);
        self.free.extend(all);
    }

    /// The chunks of a list in the order in which its events came.
    pub(super) fn chunks(&mut self, list: List) -> impl Iterator<Item = Events<'_>> + Clone {
        self.put_in_order(list);
        self.order.iter().rev().map(|part| Events {
            chunk: &self.chunks[part.head as usize],
            next: 0,
            end: part.fill as usize,
        })
    }

    /// Frees the chunks of a list.
    pub(super) fn release(&mut self, list: List) {
        let mut head = list.head;
        while head != NONE {
            self.free.push(head);
            head = self.links[head as usize].head;
        }
    }

    /// Takes a list apart: each of its chunks, the oldest first, to be given to
    /// [`copy_and_free`](Self::copy_and_free).
    pub(super) fn take_apart(&mut self, list: List) -> Vec<List> {
        self.put_in_order(list);
        self.order.iter().rev().copied().collect()
    }

    /// Gives the events of a chunk into `into`; the chunk is free.
    pub(super) fn copy_and_free(&mut self, part: List, into: &mut Vec<CallerEvent>) {
        let chunk = &self.chunks[part.head as usize];
        into.extend(Events { chunk, next: 0, end: part.fill as usize });
        self.free.push(part.head);
    }

    /// Makes `order` the chunks of this list, the newest first.
    fn put_in_order(&mut self, list: List) {
        self.order.clear();
        let mut part = list;
        while part.head != NONE {
            self.order.push(part);
            part = self.links[part.head as usize];
        }
    }

    #[cold]
    fn grow(&mut self, list: &mut List) {
        let chunk = self.free.pop().unwrap_or_else(|| {
            let chunk = u32::try_from(self.chunks.len())
                .expect("2^32 chunks are 8 TiB of events, which no machine holds");
            self.chunks.push(Box::new([0; WORDS]));
            self.links.push(List::EMPTY);
            chunk
        });
        self.links[chunk as usize] = *list;
        *list = List { head: chunk, fill: 0 };
    }
}

impl Events<'_> {
    /// The words that its events take.
    pub(super) const fn words(&self) -> usize {
        self.end - self.next
    }
}

impl Iterator for Events<'_> {
    type Item = CallerEvent;

    #[inline]
    fn next(&mut self) -> Option<CallerEvent> {
        if self.next >= self.end {
            return None;
        }
        let record = self.chunk[self.next..].first_chunk::<RECORD>()?;
        let (event, words) = CallerEvent::from_record(record);
        self.next += words as usize;
        Some(event)
    }
}

/// Words in a chunk: 2 KiB, small enough that a thousand callers in as many buckets stay in cache.
const WORDS: usize = 256;
/// Words of the longest record. Every record is written as if it were that long, and the next one
/// begins where it really ends.
const RECORD: usize = 4;
/// The least fill that leaves no room for a record.
const FULL: u32 = 253;
const _: () = assert!(FULL as usize + RECORD == WORDS + 1);
/// No chunk.
const NONE: u32 = u32::MAX;
