//! A timing wheel: pending events by the slot of their time.
//!
//! A heap of 25 million events is 25 levels of cache misses an event. The wheel writes events into
//! the bucket of their time, in sequence, and sorts only the one bucket that is due, which fits the
//! cache. Buckets are lists of small chunks from one pool, so memory is reused as the wheel turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use stagger_core::Instant;

use super::chunks::Due;
use super::chunks::{ChunkPool, List};
use super::{CallerEvent, Queue};

/// A time wheel: the queue for millions of events.
#[derive(Clone, Debug)]
pub struct Wheel {
    pool: ChunkPool,
    /// The buckets of this revolution.
    slots: Vec<List>,
    /// Those that hold events; empty time is skipped by them.
    occupied: Occupied,
    /// Events of later revolutions.
    far: BTreeMap<u64, List>,
    revolution: u64,
    /// The first bucket that has not been opened; what is pushed before it goes to `late`.
    next: u64,
    /// The opened bucket, or a part of it.
    due: Due,
    /// The parts of a large bucket that was opened, and the first that is still to come.
    parts: Vec<List>,
    next_part: usize,
    /// Events pushed into a bucket that was open already.
    late: BinaryHeap<Reverse<CallerEvent>>,
}

impl Wheel {
    /// An empty wheel that stands at the origin.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pool: ChunkPool::default(),
            slots: vec![List::EMPTY; SLOTS],
            occupied: Occupied::NONE,
            far: BTreeMap::new(),
            revolution: 0,
            next: 0,
            due: Due::default(),
            parts: vec![List::EMPTY; PARTS],
            next_part: PARTS,
            late: BinaryHeap::new(),
        }
    }

    /// Opens the next bucket that holds events, unless all of it lies at or after `limit`; or the next part of
    /// an open one.
    fn open_next(&mut self, limit: CallerEvent) -> bool {
        if self.open_part() {
            return true;
        }
        loop {
            if let Some(slot) = self.occupied.first() {
                let bucket = self.revolution * SLOTS as u64 + slot as u64;
                let opens = starts_before(bucket, limit);
                if opens {
                    self.open(bucket, slot);
                }
                return opens;
            }
            let Some((&revolution, _)) = self.far.first_key_value() else { return false };
            if !starts_before(revolution.saturating_mul(SLOTS as u64), limit) {
                return false;
            }
            self.turn_to(revolution);
        }
    }

    fn open(&mut self, bucket: u64, slot: usize) {
        let list = std::mem::replace(&mut self.slots[slot], List::EMPTY);
        self.occupied.remove(slot);
        self.next = bucket + 1;
        if self.pool.count(list) > LARGE {
            return self.split(list);
        }
        self.due.fill(WIDTH_BITS, self.pool.chunks(list));
        self.pool.release(list);
    }

    /// Hands the events of a large bucket to its parts, and opens the first of them.
    #[cold]
    fn split(&mut self, list: List) {
        let mut events = Vec::new();
        for chunk in self.pool.take_apart(list) {
            self.pool.copy_and_free(chunk, &mut events);
            for event in events.drain(..) {
                self.pool.push(&mut self.parts[part_of(event)], event);
            }
        }
        self.next_part = 0;
        self.open_part();
    }

    /// Opens the next part of a large bucket, if one is left.
    fn open_part(&mut self) -> bool {
        while self.next_part < PARTS {
            let list = std::mem::replace(&mut self.parts[self.next_part], List::EMPTY);
            self.next_part += 1;
            if !list.is_empty() {
                self.due.fill(WIDTH_BITS - PART_BITS, self.pool.chunks(list));
                self.pool.release(list);
                return true;
            }
        }
        false
    }

    /// Hands the events of a later revolution to their slots.
    fn turn_to(&mut self, revolution: u64) {
        self.revolution = revolution;
        self.next = revolution * SLOTS as u64;
        let list = self.far.remove(&revolution).unwrap_or(List::EMPTY);
        let mut events = Vec::new();
        for part in self.pool.take_apart(list) {
            self.pool.copy_and_free(part, &mut events);
            events.drain(..).for_each(|event| self.place(event, bucket_of(event)));
        }
    }

    #[inline]
    fn place(&mut self, event: CallerEvent, bucket: u64) {
        // OK because the remainder is below SLOTS.
        #[expect(clippy::cast_possible_truncation, reason = "below SLOTS")]
        let slot = (bucket % SLOTS as u64) as usize;
        self.occupied.insert(slot);
        self.pool.push(&mut self.slots[slot], event);
    }

    #[cold]
    fn put_far(&mut self, event: CallerEvent, revolution: u64) {
        let list = self.far.entry(revolution).or_insert(List::EMPTY);
        self.pool.push(list, event);
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue for Wheel {
    fn restart(&mut self) {
        self.slots.fill(List::EMPTY);
        self.occupied = Occupied::NONE;
        self.far.clear();
        self.pool.clear();
        self.parts.fill(List::EMPTY);
        (self.revolution, self.next, self.next_part) = (0, 0, PARTS);
        self.due.clear();
        self.late.clear();
    }

    #[inline]
    fn push(&mut self, event: CallerEvent) {
        let bucket = bucket_of(event);
        let revolution = bucket / SLOTS as u64;
        if bucket < self.next {
            self.late.push(Reverse(event));
        } else if revolution == self.revolution {
            self.place(event, bucket);
        } else {
            self.put_far(event, revolution);
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent> {
        // What is late may lie behind the next part of its bucket.
        let opens = self.due.is_empty() && (self.late.is_empty() || self.next_part < PARTS);
        if opens && !self.open_next(limit) && self.late.is_empty() {
            return None;
        }
        let due = self.due.first();
        let late = self.late.peek().map(|late| late.0);
        let is_late = late.is_some_and(|late| due.is_none_or(|due| late < due));
        let first = if is_late { late } else { due }.filter(|&first| first < limit)?;
        if is_late {
            self.late.pop();
        } else {
            self.due.advance();
        }
        Some(first)
    }
}

/// Bucket width: 2^21 ns, about 2 ms. A million callers within half a second then fill buckets of
/// some 4000 events; much narrower ones measured twice as slow, much wider ones leave the cache. A
/// revolution is about 1.1 s.
const WIDTH_BITS: u32 = 21;

/// A bucket of more chunks than these, 1 MiB, leaves the second cache while it is sorted: it is handed to
/// its parts first.
const LARGE: usize = 512;

/// The parts of a large bucket, by the highest bits of the time in it.
const PART_BITS: u32 = 6;
const PARTS: usize = 1 << PART_BITS;

#[inline]
const fn part_of(event: CallerEvent) -> usize {
    // OK because the remainder is below PARTS.
    ((event.at().as_nanos() >> (WIDTH_BITS - PART_BITS)) % PARTS as u64) as usize
}

#[inline]
const fn bucket_of(event: CallerEvent) -> u64 {
    event.at().as_nanos() >> WIDTH_BITS
}

fn starts_before(bucket: u64, limit: CallerEvent) -> bool {
    Instant::from_nanos(bucket << WIDTH_BITS) <= limit.at()
}

/// Words of [`Occupied`].
const SETS: usize = 8;

/// Slots in one revolution: so few that their chunks stay in cache while events are handed to them. An event
/// of a later revolution is written twice, and both times next to the one before it; with 4096 slots some
/// million waiting callers measured up to a fifth slower.
pub(super) const SLOTS: usize = SETS * 64;

/// A set of slots whose next member is found in two steps.
#[derive(Clone, Debug)]
pub(super) struct Occupied {
    words: [u64; SETS],
    /// One bit for each word that is not zero.
    summary: u64,
}

impl Occupied {
    pub(super) const NONE: Self = Self { words: [0; SETS], summary: 0 };

    #[inline]
    pub(super) const fn insert(&mut self, slot: usize) {
        self.words[slot / 64 % SETS] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64 % SETS);
    }

    pub(super) const fn remove(&mut self, slot: usize) {
        let word = slot / 64 % SETS;
        self.words[word] &= !(1 << (slot % 64));
        if self.words[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The lowest member.
    #[inline]
    pub(super) const fn first(&self) -> Option<usize> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Class, Heap};
    use super::*;

    fn event(at: u64, id: u32) -> CallerEvent {
        CallerEvent::new(Instant::from_nanos(at), Class::Wake, id)
    }

    /// Pushes each event `gap` after the last one taken, and takes one after every other push.
    fn run(queue: &mut impl Queue, gaps: &[u64]) -> Vec<CallerEvent> {
        let (mut taken, mut now) = (Vec::new(), 0_u64);
        for (id, gap) in (0..).zip(gaps) {
            queue.push(event(now.saturating_add(*gap), id));
            if id % 2 == 1 {
                let first = queue.pop_before(CallerEvent::LAST).expect("one was just pushed");
                now = first.at().as_nanos();
                taken.push(first);
            }
        }
        taken.extend(std::iter::from_fn(|| queue.pop_before(CallerEvent::LAST)));
        taken
    }

    #[test]
    fn an_event_pushed_into_the_open_bucket_is_not_lost_or_late() {
        let mut wheel = Wheel::new();
        wheel.push(event(10, 0));
        wheel.push(event(30, 1));
        assert_eq!(wheel.pop_before(CallerEvent::LAST), Some(event(10, 0)));
        wheel.push(event(20, 2));
        assert_eq!(wheel.pop_before(CallerEvent::LAST), Some(event(20, 2)));
        assert_eq!(wheel.pop_before(CallerEvent::LAST), Some(event(30, 1)));
        assert_eq!(wheel.pop_before(CallerEvent::LAST), None);
    }

    #[test]
    fn a_part_of_a_large_bucket_came_after_what_was_late_for_it() {
        let (mut fast, mut slow) = (Wheel::new(), Heap::default());
        let mut both = |event| {
            fast.push(event);
            slow.push(event);
        };
        // 100 000 events of one bucket are 600 chunks; every tenth gives another one into the open bucket.
        (0..100_000).for_each(|id| both(event(u64::from(id) * 13 % 2_000_000, id)));
        let mut taken = 0;
        while let Some(first) = slow.pop_before(CallerEvent::LAST) {
            assert_eq!(fast.pop_before(CallerEvent::LAST), Some(first));
            taken += 1;
            if taken % 10 == 0 {
                let next = event(first.at().as_nanos() + u64::from(first.id() % 1_000), taken);
                fast.push(next);
                slow.push(next);
            }
        }
        assert_eq!(fast.pop_before(CallerEvent::LAST), None);
        assert!(taken > 110_000);
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

    #[test]
    fn a_restarted_wheel_has_forgotten_its_events_and_its_place() {
        let mut wheel = Wheel::new();
        let far = 60_000_000_000;
        for (id, at) in [10, 5_000_000, far, 2 * far].into_iter().enumerate() {
            wheel.push(event(at, u32::try_from(id).expect("four")));
        }
        assert_eq!(wheel.pop_before(event(far, 9)), Some(event(10, 0)));
        wheel.restart();
        assert_eq!(wheel.pop_before(CallerEvent::LAST), None);
        wheel.push(event(20, 7));
        wheel.push(event(10, 8));
        // In its slot and not among the late ones, where a million of them would be slow.
        assert!(wheel.late.is_empty());
        assert_eq!(wheel.pop_before(CallerEvent::LAST), Some(event(10, 8)));
        assert_eq!(wheel.pop_before(CallerEvent::LAST), Some(event(20, 7)));
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

    #[test]
    fn a_set_gives_its_members_in_order_and_is_empty_after_the_last() {
        let members = [0, 63, 64, 300, SLOTS - 1];
        let mut set = Occupied::NONE;
        members.iter().rev().for_each(|&slot| set.insert(slot));
        for slot in members {
            assert_eq!(set.first(), Some(slot));
            set.remove(slot);
        }
        assert_eq!(set.first(), None);
    }
}
