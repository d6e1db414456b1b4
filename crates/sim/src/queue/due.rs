//! The opened bucket of a wheel, in order.

use super::CallerEvent;
use super::chunks::Events;

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
