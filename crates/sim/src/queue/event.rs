//! An event of one caller, the contract of every set of pending events, and its oracle: a binary heap.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use stagger_core::Instant;

/// The kind of an event; at one instant the kinds happen in this order.
///
/// Answers come first, so that an attempt made at the same instant meets a server that has let go,
/// and a timeout comes after the answer that arrives with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A failure reaches its caller.
    Failed = 0,
    /// A success reaches its caller.
    Served = 1,
    /// A worker is done.
    Finish = 2,
    /// A shard starts work again after a stall.
    Resume = 3,
    /// A lease of permits, or its refusal, reaches its process.
    Lease = 4,
    /// A caller gives an attempt up.
    Timeout = 5,
    /// A further copy of an attempt is due.
    Hedge = 6,
    /// A caller's delay is over.
    Wake = 7,
    /// An attempt reaches the server.
    Reach = 8,
    /// A new caller makes its first attempt.
    Arrival = 9,
}

/// Something that happens to one caller at one instant, with the data that its handler needs.
///
/// ```
/// use stagger_core::Instant;
/// use stagger_sim::{Class, CallerEvent};
/// let at = Instant::from_nanos(5);
/// let wake = CallerEvent::new(at, Class::Wake, 9).with(3, [7, 8]);
/// assert_eq!((wake.at(), wake.class(), wake.id()), (at, Class::Wake, 9));
/// assert_eq!((wake.tag(), wake.words()), (3, [7, 8]));
/// assert!(CallerEvent::new(at, Class::Served, 10) < wake);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerEvent {
    at: Instant,
    /// Class, id and tag from the top down, so that comparing two words compares the whole order.
    key: u64,
    words: [u64; 2],
}

impl CallerEvent {
    /// After every event there can be.
    pub const LAST: Self = Self { at: Instant::FAR, key: u64::MAX, words: [u64::MAX; 2] };
    /// The largest tag.
    pub const MAX_TAG: u32 = (1 << ID_SHIFT) - 1;

    /// The event of `class` for caller `id` at `at`.
    #[must_use]
    #[inline]
    pub const fn new(at: Instant, class: Class, id: u32) -> Self {
        let key = ((class as u64) << CLASS_SHIFT) | ((id as u64) << ID_SHIFT);
        Self { at, key, words: [0; 2] }
    }

    /// The same event with a tag of at most [`MAX_TAG`](Self::MAX_TAG), and two words.
    #[must_use]
    #[inline]
    pub const fn with(mut self, tag: u32, words: [u64; 2]) -> Self {
        debug_assert!(tag <= Self::MAX_TAG);
        self.key |= tag as u64;
        self.words = words;
        self
    }

    /// The instant at which it happens.
    #[must_use]
    #[inline]
    pub const fn at(self) -> Instant {
        self.at
    }

    /// The kind of event.
    #[must_use]
    #[inline]
    pub const fn class(self) -> Class {
        match self.key >> CLASS_SHIFT {
            0 => Class::Failed,
            1 => Class::Served,
            2 => Class::Finish,
            3 => Class::Resume,
            4 => Class::Lease,
            5 => Class::Timeout,
            6 => Class::Hedge,
            7 => Class::Wake,
            8 => Class::Reach,
            _ => Class::Arrival,
        }
    }

    /// The caller.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the id was stored in 32 bits")]
    pub const fn id(self) -> u32 {
        // OK because the id was stored in the 32 bits above the tag.
        (self.key >> ID_SHIFT) as u32
    }

    /// The tag.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the tag's bits")]
    pub const fn tag(self) -> u32 {
        // OK because the mask leaves 24 bits.
        (self.key & Self::MAX_TAG as u64) as u32
    }

    /// The two words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        self.words
    }

    /// The event as it is stored: time, key and words, and how many of these four matter, because
    /// words at the end that are zero need not be stored.
    #[inline]
    pub(super) const fn to_record(self) -> ([u64; 4], u32) {
        let [first, second] = self.words;
        let more: u32 = if second != 0 {
            2
        } else if first != 0 {
            1
        } else {
            0
        };
        ([self.at.as_nanos(), self.key | ((more as u64) << MORE_SHIFT), first, second], 2 + more)
    }

    /// The event that was stored so, whatever follows it, and how many words it takes.
    #[inline]
    pub(super) const fn from_record(record: &[u64; 4]) -> (Self, u32) {
        let [at, marked, first, second] = *record;
        let more = marked >> MORE_SHIFT;
        let words = [if more > 0 { first } else { 0 }, if more > 1 { second } else { 0 }];
        let key = marked & !(3 << MORE_SHIFT);
        // OK because the shift leaves two bits.
        (Self { at: Instant::from_nanos(at), key, words }, 2 + more as u32)
    }

    /// Class, id and tag as one word, for digests.
    #[inline]
    pub(crate) const fn key(self) -> u64 {
        self.key
    }
}

impl CallerEvent {
    /// Time and key as one number, so that nearly all events compare in one step.
    #[inline]
    const fn rank(&self) -> u128 {
        ((self.at.as_nanos() as u128) << 64) | self.key as u128
    }
}

impl Ord for CallerEvent {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| self.words.cmp(&other.words))
    }
}

impl PartialOrd for CallerEvent {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        let (own, others) = (self.rank(), other.rank());
        own < others || (own == others && self.words < other.words)
    }
}

/// The words that a stored event has more than two, above its class, which needs four bits.
const MORE_SHIFT: u32 = 62;
/// The class has the top byte of the key.
const CLASS_SHIFT: u32 = 56;
/// The id has the 32 bits below it, and the tag what is left.
const ID_SHIFT: u32 = 24;

/// A set of pending events that gives them back in order.
pub trait Queue {
    /// Forgets all events and stands at the origin again.
    fn restart(&mut self);

    /// Adds an event; never earlier than the last one taken.
    fn push(&mut self, event: CallerEvent);

    /// Takes the first event if it comes before `limit`.
    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent>;
}

/// A binary heap of events. It is here to be believed: [`Wheel`](super::Wheel) must agree with it.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    events: BinaryHeap<Reverse<CallerEvent>>,
}

impl Queue for Heap {
    fn restart(&mut self) {
        self.events.clear();
    }

    #[inline]
    fn push(&mut self, event: CallerEvent) {
        self.events.push(Reverse(event));
    }

    #[inline]
    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent> {
        let first = self.events.peek()?.0;
        if first >= limit {
            return None;
        }
        self.events.pop();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stored_event_lost_a_word_or_took_one_of_the_next(
            at: u64, id: u32, tag in 0..=CallerEvent::MAX_TAG, words: [u32; 2], keep in 0..4_u64, next: u64,
        ) {
            let words = [u64::from(words[0]) * (keep & 1), u64::from(words[1]) * (keep >> 1)];
            let event = CallerEvent::new(Instant::from_nanos(at), Class::Arrival, id).with(tag, words);
            let (mut record, used) = event.to_record();
            record[used as usize..].fill(next);
            prop_assert_eq!(CallerEvent::from_record(&record), (event, used));
        }
    }
}
