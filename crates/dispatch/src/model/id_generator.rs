//! Makes ids: UUID version 7 (RFC 9562 section 5.7), in order within a process.

use std::sync::atomic::{AtomicU64, Ordering};

use stagger::{Instant, Span};
use uuid::{Builder, Uuid};

use super::MessageId;
use crate::Error;
use crate::sign::os_fill;

/// Values of the 12 bits after the time: ids of one millisecond, before the next is borrowed.
const PER_MILLI: u64 = 1 << 12;

/// Makes ids in the order of creation, also within a millisecond and when the clock goes back.
/// Threads may share one without a lock.
///
/// ```
/// use stagger_dispatch::model::IdGenerator;
/// use stagger::{Instant, Span};
/// let (ids, now) = (IdGenerator::default(), Instant::ORIGIN + Span::from_secs(1_700_000_000));
/// let (first, second) = (ids.make(now)?, ids.make(now)?);
/// assert!(first < second && ids.make(Instant::ORIGIN)? > second);
/// # Ok::<(), stagger_dispatch::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct IdGenerator {
    /// Milliseconds since the epoch times 4096, plus a count within the millisecond.
    last: AtomicU64,
}

impl IdGenerator {
    /// The next id, made at `now`.
    ///
    /// Its last 62 bits come from the operating system. Receivers see ids, so the generator that spreads
    /// delays is not an option: its state can be computed from its output.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub fn make(&self, now: Instant) -> Result<Uuid, Error> {
        let mut draw = [0; DRAW];
        os_fill(&mut draw)?;
        Ok(id(self.reserve(now, 1), draw))
    }

    /// The next `count` ids, in order; all their random bits are one call to the operating system.
    ///
    /// # Errors
    /// The operating system has no randomness.
    ///
    /// ```
    /// use stagger_dispatch::model::IdGenerator;
    /// use stagger::Instant;
    /// let ids = IdGenerator::default().make_many(Instant::ORIGIN, 3)?;
    /// assert!(ids.len() == 3 && ids[0] < ids[1] && ids[1] < ids[2]);
    /// # Ok::<(), stagger_dispatch::Error>(())
    /// ```
    pub fn make_many(&self, now: Instant, count: usize) -> Result<Vec<Uuid>, Error> {
        let mut draws = vec![[0; DRAW]; count];
        os_fill(draws.as_flattened_mut())?;
        let first = self.reserve(now, count as u64);
        Ok((first..).zip(draws).map(|(place, draw)| id(place, draw)).collect())
    }

    /// The names of the next `count` messages, in order.
    pub(crate) fn message_ids(&self, now: Instant, count: usize) -> Result<Vec<MessageId>, Error> {
        Ok(self.make_many(now, count)?.into_iter().map(MessageId::from_uuid).collect())
    }

    /// Reserves `count` places in a row, and returns the first.
    fn reserve(&self, now: Instant, count: u64) -> u64 {
        let earliest = now.as_nanos() / Span::from_millis(1).as_nanos() * PER_MILLI;
        let first = |last: u64| earliest.max(last + 1);
        let next = |last| Some((first(last) + count).saturating_sub(1).max(last));
        // Relaxed, because the place is the only value read. The update is always made.
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let (Ok(last) | Err(last)) = last;
        first(last)
    }
}

/// Random bytes of an id.
const DRAW: usize = 8;

fn id(place: u64, draw: [u8; DRAW]) -> Uuid {
    let hi = (place % PER_MILLI).to_be_bytes();
    let random =
        [hi[6], hi[7], draw[0], draw[1], draw[2], draw[3], draw[4], draw[5], draw[6], draw[7]];
    Builder::from_unix_timestamp_millis(place / PER_MILLI, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::*;

    const NOW: Instant = Instant::from_nanos(1_700_000_000_000_000_000);

    #[test]
    fn more_ids_than_a_millisecond_has_room_for_stay_in_order() {
        let id_generator = IdGenerator::default();
        let mut ids = id_generator.make_many(NOW, 9_999).expect("the system has randomness");
        assert_eq!(id_generator.make_many(NOW, 0), Ok(Vec::new()));
        ids.push(id_generator.make(NOW).expect("the system has randomness"));
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!((ids.len(), ids[0].get_version_num()), (10_000, 7));
    }

    #[test]
    fn two_threads_got_one_place_in_the_order() {
        let id_generator = IdGenerator::default();
        let places = || (0..1_000).map(|_| id_generator.reserve(NOW, 3)).collect::<Vec<_>>();
        let all: Vec<u64> = thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(places));
            threads.into_iter().flat_map(|it| it.join().expect("it ran")).collect()
        });
        let places: BTreeSet<u64> = all.iter().flat_map(|first| *first..first + 3).collect();
        assert_eq!(places.len(), 4 * 1_000 * 3);
    }
}
