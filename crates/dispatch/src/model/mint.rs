//! Makes ids: UUID version 7 (RFC 9562 section 5.7), in order within a process.

use stagger::{Instant, Span};
use uuid::{Builder, Uuid};

use crate::Error;
use crate::sign::os_bytes;

/// Values of the 12 bits after the time: ids of one millisecond, before the next is borrowed.
const PER_MILLI: u64 = 1 << 12;

/// Makes ids whose order is the order of making, also within a millisecond and when the clock goes
/// back.
///
/// ```
/// use stagger_dispatch::model::Mint;
/// use stagger::{Instant, Span};
/// let (mut mint, now) = (Mint::default(), Instant::ORIGIN + Span::from_secs(1_700_000_000));
/// let (first, second) = (mint.make(now)?, mint.make(now)?);
/// assert!(first < second && mint.make(Instant::ORIGIN)? > second);
/// # Ok::<(), stagger_dispatch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Mint {
    /// Milliseconds since the epoch times 4096, plus a count within the millisecond.
    last: u64,
}

impl Mint {
    /// The next id, made at `now`.
    ///
    /// Its last 62 bits come from the operating system. Receivers see ids, so the generator that spreads
    /// delays is not an option: its state can be computed from its output.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub fn make(&mut self, now: Instant) -> Result<Uuid, Error> {
        let lo = os_bytes::<8>()?;
        let millis = now.as_nanos() / Span::from_millis(1).as_nanos();
        self.last = (millis * PER_MILLI).max(self.last + 1);
        let hi = (self.last % PER_MILLI).to_be_bytes();
        let random = [hi[6], hi[7], lo[0], lo[1], lo[2], lo[3], lo[4], lo[5], lo[6], lo[7]];
        Ok(Builder::from_unix_timestamp_millis(self.last / PER_MILLI, &random).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ids_than_a_millisecond_has_room_for_stay_in_order() {
        let mut mint = Mint::default();
        let now = Instant::ORIGIN + Span::from_secs(1_700_000_000);
        let ids: Vec<Uuid> =
            (0..10_000).map(|_| mint.make(now).expect("the system has randomness")).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(ids[0].get_version_num(), 7);
    }
}
