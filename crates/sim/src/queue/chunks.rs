//! Lists of events in small chunks, out of one pool, and the opened list of a wheel, in order.

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

    pub(super) const fn is_empty(&self) -> bool {
        self.head == NONE
    }
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

    /// The number of chunks of a list.
    pub(super) fn count(&self, list: List) -> usize {
        let next = |&chunk: &u32| (chunk != NONE).then(|| self.links[chunk as usize].head);
        std::iter::successors(Some(list.head), next).count() - 1
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

/// The events of one bucket, sorted, and how many of them were taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// Its length only grows: what lies after `end` is left over from fuller buckets.
    events: Vec<CallerEvent>,
    next: usize,
    end: usize,
    /// The start of each strip of the bucket, and later its end.
    places: Vec<u32>,
}

impl Due {
    pub(super) const fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.next == self.end
    }

    /// The first event that was not taken.
    #[inline]
    pub(super) fn first(&self) -> Option<CallerEvent> {
        self.events[..self.end].get(self.next).copied()
    }

    /// Takes it.
    #[inline]
    pub(super) const fn advance(&mut self) {
        self.next += 1;
    }

    /// Sorts the events of these chunks, which lie in one stretch of `2^width` nanoseconds.
    ///
    /// Times within a bucket are nearly uniform when a crowd is large, so events are counted into
    /// strips of the bucket, moved to the place of their strip, and sorted within it: two passes
    /// that read in sequence, and then sorts of a few events each. A crowd at one instant falls into
    /// one strip, in the order in which it came, which is nearly always sorted already.
    pub(super) fn fill<'e>(
        &mut self,
        width: u32,
        chunks: impl Iterator<Item = Events<'e>> + Clone,
    ) {
        self.clear();
        let words: usize = chunks.clone().map(|events| events.words()).sum();
        if words <= FEW {
            return self.copy_and_sort(chunks);
        }
        let bits = (words / IN_STRIP).ilog2().min(MAX_STRIP_BITS);
        let (shift, mask) = (width - bits, (1 << bits) - 1);
        self.count(chunks.clone(), shift, mask);
        for event in chunks.flatten() {
            let place = &mut self.places[strip(event, shift, mask)];
            self.events[*place as usize] = event;
            *place += 1;
        }
        self.sort_strips();
    }

    fn copy_and_sort<'e>(&mut self, chunks: impl Iterator<Item = Events<'e>>) {
        for event in chunks.flatten() {
            match self.events.get_mut(self.end) {
                Some(place) => *place = event,
                None => self.events.push(event),
            }
            self.end += 1;
        }
        self.events[..self.end].sort_unstable();
    }

    /// Makes `places` the beginnings of all strips, and room for what is in them.
    fn count<'e>(&mut self, chunks: impl Iterator<Item = Events<'e>>, shift: u32, mask: usize) {
        self.places.clear();
        self.places.resize(mask + 1, 0);
        for event in chunks.flatten() {
            self.places[strip(event, shift, mask)] += 1;
        }
        let mut begin = 0;
        for place in &mut self.places {
            begin += std::mem::replace(place, begin);
        }
        self.end = begin as usize;
        if self.events.len() < self.end {
            self.events.resize(self.end, CallerEvent::LAST);
        }
    }

    /// Now `places` are the ends of all strips.
    fn sort_strips(&mut self) {
        let mut begin = 0;
        for &end in &self.places {
            let end = end as usize;
            if end - begin > 1 {
                self.events[begin..end].sort_unstable();
            }
            begin = end;
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "masked")]
fn strip(event: CallerEvent, shift: u32, mask: usize) -> usize {
    // OK because the mask has far fewer bits than any word.
    (event.at().as_nanos() >> shift) as usize & mask
}

/// Events of so many words together are sorted as they are: some twenty.
const FEW: usize = 60;
/// Words in a strip, about: so few events that a sort of them is a handful of comparisons.
const IN_STRIP: usize = 12;
/// More strips than 2^14 would leave the first cache with their places alone.
const MAX_STRIP_BITS: u32 = 14;
