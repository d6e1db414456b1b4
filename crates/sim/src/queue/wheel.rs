//! Pending events in a wheel of time buckets, each sorted when its turn comes.
//!
//! A heap of 25 million events is 25 levels of cache misses an event. The wheel writes events into
//! the bucket of their time, in sequence, and sorts only the one bucket that is due, which fits the
//! cache. Buckets are lists of small chunks from one pool, so memory is reused as the wheel turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use stagger_core::Instant;

use super::{Event, Queue};

/// A time wheel: the queue for millions of events.
#[derive(Clone, Debug)]
pub struct Wheel {
    pool: Pool,
    /// The buckets of this revolution.
    slots: Vec<List>,
    /// One bit a slot that holds events, so that empty time is skipped 64 slots at once.
    occupied: [u64; SLOTS / 64],
    /// Events of later revolutions.
    far: BTreeMap<u64, List>,
    revolution: u64,
    /// The first bucket that has not been opened; what is pushed before it goes to `late`.
    next: u64,
    /// The opened bucket, last event first.
    due: Vec<Event>,
    /// Events pushed into a bucket that was open already.
    late: BinaryHeap<Reverse<Event>>,
}

impl Wheel {
    /// An empty wheel that stands at the origin.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pool: Pool::default(),
            slots: vec![List::EMPTY; SLOTS],
            occupied: [0; SLOTS / 64],
            far: BTreeMap::new(),
            revolution: 0,
            next: 0,
            due: Vec::new(),
            late: BinaryHeap::new(),
        }
    }

    /// Opens the next bucket that holds events, unless all of it lies at or after `limit`.
    fn open_next(&mut self, limit: Event) -> bool {
        loop {
            if let Some(slot) = self.next_occupied() {
                let bucket = self.revolution * SLOTS as u64 + slot as u64;
                return starts_before(bucket, limit) && self.open(bucket, slot);
            }
            let Some((&revolution, _)) = self.far.first_key_value() else { return false };
            if !starts_before(revolution.saturating_mul(SLOTS as u64), limit) {
                return false;
            }
            self.turn_to(revolution);
        }
    }

    /// The first slot from `next` on that holds events.
    fn next_occupied(&self) -> Option<usize> {
        // OK because `next` lies in this revolution or right after it: at most SLOTS.
        #[expect(clippy::cast_possible_truncation, reason = "at most SLOTS")]
        let from = self.next.saturating_sub(self.revolution * SLOTS as u64) as usize;
        let mut word = from / 64;
        let mut bits = self.occupied.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    fn open(&mut self, bucket: u64, slot: usize) -> bool {
        let list = std::mem::replace(&mut self.slots[slot], List::EMPTY);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let due = &mut self.due;
        self.pool.drain(list, |events| due.extend_from_slice(events));
        due.sort_unstable_by(|a, b| b.cmp(a));
        self.next = bucket + 1;
        true
    }

    /// Hands the events of a later revolution to their slots.
    fn turn_to(&mut self, revolution: u64) {
        self.revolution = revolution;
        self.next = revolution * SLOTS as u64;
        let mut list = self.far.remove(&revolution).unwrap_or(List::EMPTY);
        let mut chunk = Vec::with_capacity(CHUNK);
        while self.pool.take_chunk(&mut list, &mut chunk) {
            for event in chunk.drain(..) {
                self.place(event, bucket_of(event));
            }
        }
    }

    fn place(&mut self, event: Event, bucket: u64) {
        // OK because the remainder is below SLOTS.
        #[expect(clippy::cast_possible_truncation, reason = "below SLOTS")]
        let slot = (bucket % SLOTS as u64) as usize;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.pool.push(&mut self.slots[slot], event);
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue for Wheel {
    #[inline]
    fn push(&mut self, event: Event) {
        let bucket = bucket_of(event);
        if bucket < self.next {
            self.late.push(Reverse(event));
        } else if bucket / SLOTS as u64 == self.revolution {
            self.place(event, bucket);
        } else {
            let list = self.far.entry(bucket / SLOTS as u64).or_insert(List::EMPTY);
            self.pool.push(list, event);
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: Event) -> Option<Event> {
        if self.due.is_empty() && self.late.is_empty() && !self.open_next(limit) {
            return None;
        }
        match (self.due.last(), self.late.peek()) {
            (Some(&first), late) if late.is_none_or(|late| first < late.0) => {
                if first >= limit {
                    return None;
                }
                self.due.pop()
            }
            (_, Some(&Reverse(first))) if first < limit => self.late.pop().map(|late| late.0),
            _ => None,
        }
    }

    #[inline]
    fn upcoming(&self) -> &[Event] {
        &self.due[self.due.len().saturating_sub(UPCOMING)..]
    }
}

/// Bucket width: 2^21 ns, about 2 ms. A million callers within half a second then fill buckets of
/// some 4000 events; much narrower ones measured twice as slow, much wider ones leave the cache.
const WIDTH_BITS: u32 = 21;
/// Buckets in one revolution, about 8.6 s; a power of two, so that slots are masks and shifts.
const SLOTS: usize = 4096;
/// Events in a chunk: 1 KiB, small enough that a thousand callers in as many buckets stay in cache.
const CHUNK: usize = FULL as usize;
/// The fill of a chunk without room.
const FULL: u32 = 64;
/// Events shown ahead: about as many reads as a core has under way at once.
const UPCOMING: usize = 16;
/// No chunk.
const NONE: u32 = u32::MAX;

#[inline]
const fn bucket_of(event: Event) -> u64 {
    event.at().as_nanos() >> WIDTH_BITS
}

fn starts_before(bucket: u64, limit: Event) -> bool {
    Instant::from_nanos(bucket << WIDTH_BITS) <= limit.at()
}

/// A list of chunks; only its first one may have room.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    /// Events in the head chunk.
    fill: u32,
}

impl List {
    const EMPTY: Self = Self { head: NONE, fill: 0 };
}

/// Chunks of events, used again as soon as they are empty.
#[derive(Clone, Debug, Default)]
struct Pool {
    events: Vec<Event>,
    /// The next chunk of the same list, or of the free ones.
    links: Vec<u32>,
    free: Vec<u32>,
}

impl Pool {
    #[inline]
    fn push(&mut self, list: &mut List, event: Event) {
        if list.head == NONE || list.fill == FULL {
            let chunk = self.grab();
            self.links[chunk as usize] = list.head;
            *list = List { head: chunk, fill: 0 };
        }
        self.events[list.head as usize * CHUNK + list.fill as usize] = event;
        list.fill += 1;
    }

    fn grab(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let chunk = u32::try_from(self.links.len())
                .expect("2^32 chunks are 4 TiB of events, which no machine holds");
            self.links.push(NONE);
            self.events.resize(self.events.len() + CHUNK, Event::LAST);
            chunk
        })
    }

    /// Shows every chunk of `list` and frees it.
    fn drain(&mut self, mut list: List, mut show: impl FnMut(&[Event])) {
        while list.head != NONE {
            let start = list.head as usize * CHUNK;
            show(&self.events[start..start + list.fill as usize]);
            self.release(&mut list);
        }
    }

    /// Copies the first chunk of `list` into `into` and frees it; false when there is none.
    fn take_chunk(&mut self, list: &mut List, into: &mut Vec<Event>) -> bool {
        if list.head == NONE {
            return false;
        }
        let start = list.head as usize * CHUNK;
        into.extend_from_slice(&self.events[start..start + list.fill as usize]);
        self.release(list);
        true
    }

    fn release(&mut self, list: &mut List) {
        self.free.push(list.head);
        *list = List { head: self.links[list.head as usize], fill: FULL };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Class, Heap};
    use super::*;
    use proptest::prelude::*;

    fn event(at: u64, id: u32) -> Event {
        Event::new(Instant::from_nanos(at), Class::Wake, id)
    }

    /// Pushes each event `gap` after the last one taken, and takes one after every other push.
    fn run(queue: &mut impl Queue, gaps: &[u64]) -> Vec<Event> {
        let (mut taken, mut now) = (Vec::new(), 0_u64);
        for (id, gap) in (0..).zip(gaps) {
            queue.push(event(now.saturating_add(*gap), id));
            if id % 2 == 1 {
                let first = queue.pop_before(Event::LAST).expect("one was just pushed");
                now = first.at().as_nanos();
                taken.push(first);
            }
        }
        taken.extend(std::iter::from_fn(|| queue.pop_before(Event::LAST)));
        taken
    }

    #[test]
    fn an_event_pushed_into_the_open_bucket_is_not_lost_or_late() {
        let mut wheel = Wheel::new();
        wheel.push(event(10, 0));
        wheel.push(event(30, 1));
        assert_eq!(wheel.pop_before(Event::LAST), Some(event(10, 0)));
        wheel.push(event(20, 2));
        assert_eq!(wheel.pop_before(Event::LAST), Some(event(20, 2)));
        assert_eq!(wheel.pop_before(Event::LAST), Some(event(30, 1)));
        assert_eq!(wheel.pop_before(Event::LAST), None);
    }

    #[test]
    fn nothing_at_or_after_the_limit_is_taken() {
        let mut wheel = Wheel::new();
        wheel.push(event(5_000_000_000, 7));
        assert_eq!(wheel.pop_before(event(5_000_000_000, 7)), None);
        assert_eq!(wheel.pop_before(event(1, 0)), None);
        wheel.push(event(2, 1));
        assert_eq!(wheel.pop_before(event(3, 0)), Some(event(2, 1)));
        assert_eq!(wheel.pop_before(event(5_000_000_000, 8)), Some(event(5_000_000_000, 7)));
    }

    proptest! {
        #[test]
        fn the_wheel_agrees_with_the_heap(
            gaps in prop::collection::vec(
                prop_oneof![0..5_u64, 0..3_000_000_u64, 0..20_000_000_000_u64, Just(u64::MAX)],
                0..600,
            ),
        ) {
            let slow = run(&mut Heap::default(), &gaps);
            prop_assert_eq!(run(&mut Wheel::new(), &gaps), slow);
        }
    }
}
