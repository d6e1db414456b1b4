//! One event in 16 bytes, ordered as the simulation is.

use stagger_core::Instant;

/// The kind of an event; at one instant the kinds happen in this order.
///
/// Replies come first, so that an attempt made at the same instant meets a server that has let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A failure reaches its client.
    Refused = 0,
    /// A success reaches its client.
    Served = 1,
    /// A client's delay is over.
    Wake = 2,
    /// A new client makes its first attempt.
    Arrival = 3,
}

/// Something that happens to one client at one instant.
///
/// ```
/// use stagger_core::Instant;
/// use stagger_sim::{Class, Event};
/// let at = Instant::from_nanos(5);
/// let wake = Event::new(at, Class::Wake, 9);
/// assert_eq!((wake.at(), wake.class(), wake.id()), (at, Class::Wake, 9));
/// assert!(Event::new(at, Class::Served, 10) < wake);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    at: Instant,
    /// The class above the id, so that comparing two words compares the whole order.
    key: u64,
}

impl Event {
    /// After every event there can be.
    pub const LAST: Self = Self { at: Instant::FAR, key: u64::MAX };

    /// The event of `class` for client `id` at `at`.
    #[must_use]
    #[inline]
    pub const fn new(at: Instant, class: Class, id: u32) -> Self {
        Self { at, key: ((class as u64) << CLASS_SHIFT) | id as u64 }
    }

    /// When it happens.
    #[must_use]
    #[inline]
    pub const fn at(self) -> Instant {
        self.at
    }

    /// What happens.
    #[must_use]
    #[inline]
    pub const fn class(self) -> Class {
        match self.key >> CLASS_SHIFT {
            0 => Class::Refused,
            1 => Class::Served,
            2 => Class::Wake,
            _ => Class::Arrival,
        }
    }

    /// The client.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the id")]
    pub const fn id(self) -> u32 {
        // OK because the id was stored in the low 32 bits.
        self.key as u32
    }

    /// Class and id as one word, for digests.
    #[inline]
    pub(crate) const fn key(self) -> u64 {
        self.key
    }
}

/// Ids have the low half of the key to themselves.
const CLASS_SHIFT: u32 = 32;
