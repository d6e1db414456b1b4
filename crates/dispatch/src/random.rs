//! Unpredictable bytes, and ids: UUID version 7 (RFC 9562 section 5.7), in order within a process.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use stagger::{Instant, Span};
use stagger_scheduler::model::MessageId;
use uuid::{Builder, Uuid};

use crate::Error;

/// Values of the 12 bits after the time: ids of one millisecond, before the next is borrowed.
const PER_MILLI: u64 = 1 << 12;

/// Bytes for a key, straight from the operating system.
///
/// # Errors
/// The operating system has none.
pub(crate) fn os_bytes<const N: usize>() -> Result<[u8; N], Error> {
    stagger_sender::os_bytes().map_err(no_randomness)
}

/// The error of a system without randomness.
pub(crate) fn no_randomness(error: impl fmt::Display) -> Error {
    Error::busy(format!("the system's random generator failed: {error}"))
}

/// Makes ids in the order of creation, also within a millisecond and when the clock goes back.
/// Threads may share one without a lock.
///
/// ```
/// use stagger_dispatch::IdGenerator;
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
        stagger_sender::os_fill(&mut draw).map_err(no_randomness)?;
        Ok(id(self.reserve(now, 1), draw))
    }

    /// The next `count` ids, in order; all their random bits are one call to the operating system.
    ///
    /// # Errors
    /// The operating system has no randomness.
    ///
    /// ```
    /// use stagger_dispatch::IdGenerator;
    /// use stagger::Instant;
    /// let ids = IdGenerator::default().make_many(Instant::ORIGIN, 3)?;
    /// assert!(ids.len() == 3 && ids[0] < ids[1] && ids[1] < ids[2]);
    /// # Ok::<(), stagger_dispatch::Error>(())
    /// ```
    pub fn make_many(&self, now: Instant, count: usize) -> Result<Vec<Uuid>, Error> {
        let mut draws = vec![[0; DRAW]; count];
        stagger_sender::os_fill(draws.as_flattened_mut()).map_err(no_randomness)?;
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
    use std::path::{Path, PathBuf};
    use std::{fs, thread};

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

    /// Folders and files whose random bytes are secrets, or are shown to callers and receivers.
    const NO_JITTER: [&str; 7] = [
        "api",
        "config",
        "node/submission.rs",
        "random.rs",
        "server.rs",
        "ui",
        "../../sender/src/secret.rs",
    ];

    /// All Rust files at `place`, which is a file or a folder.
    fn files(place: PathBuf) -> Vec<PathBuf> {
        if place.is_dir() {
            let entries = fs::read_dir(place).expect("a readable folder");
            return entries.flat_map(|entry| files(entry.expect("an entry").path())).collect();
        }
        place.extension().is_some_and(|end| end == "rs").then_some(place).into_iter().collect()
    }

    /// Session tokens were once drawn from the generator whose output the ids published.
    #[test]
    fn a_session_token_or_an_id_came_from_the_generator_of_delays() {
        let generators = [["Ent", "ropy"].concat(), ["R", "ng"].concat()];
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files: Vec<_> = NO_JITTER.iter().flat_map(|place| files(source.join(place))).collect();
        assert!(files.len() > 40, "the folders have moved: {} files", files.len());
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            for name in &generators {
                assert!(!text.contains(name), "{}: {name}; use os_bytes", file.display());
            }
        }
    }
}
