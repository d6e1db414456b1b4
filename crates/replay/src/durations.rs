//! The durations of the attempts that were served in one second, as a sample.

use stagger_core::Span;

/// Durations that are kept of a second.
const KEPT: usize = 16;

/// A sample of durations in microseconds, up to 71 minutes each.
///
/// Of more than 16 each has the same chance to be kept (algorithm R of Vitter, 1985); the draws are a
/// hash of the count, so that a log gives the same sample in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    count: u32,
    kept: [u32; KEPT],
}

impl Durations {
    pub(crate) fn add(&mut self, took: Span) {
        let micros = u32::try_from(took.as_nanos() / 1_000).unwrap_or(u32::MAX);
        let place = match self.count as usize {
            place @ 0..KEPT => place,
            _ => usize::try_from(draw(self.count)).unwrap_or(usize::MAX),
        };
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = micros;
        }
        self.count = self.count.saturating_add(1);
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// The median of this second.
    pub(crate) fn median(&self) -> Option<Span> {
        median([self].into_iter())
    }

    fn kept(&self) -> &[u32] {
        &self.kept[..KEPT.min(self.count as usize)]
    }
}

/// The median of several seconds, each counted by its sample.
pub(crate) fn median<'d>(seconds: impl Iterator<Item = &'d Durations>) -> Option<Span> {
    let mut all: Vec<u32> = seconds.flat_map(Durations::kept).copied().collect();
    let middle = all.len().checked_sub(1)? / 2;
    let (_, median, _) = all.select_nth_unstable(middle);
    Some(Span::from_micros(u64::from(*median)))
}

/// A place from 0 to `count`, which is the number of durations before this one.
fn draw(count: u32) -> u64 {
    let word = u64::from(count).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((word >> 32) * (u64::from(count) + 1)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_many_is_near_that_of_all() {
        assert_eq!(Durations::default().median(), None);
        let mut seconds = [Durations::default(); 30];
        for second in &mut seconds {
            (0..1_000).for_each(|ms| second.add(Span::from_millis(ms)));
        }
        // 480 of 30 000 are a sample with an error of 16 ms.
        let middle = median(seconds.iter()).unwrap().as_secs_f64();
        assert!((middle - 0.5).abs() < 0.06, "{middle}");
    }

    #[test]
    fn a_duration_is_kept_as_it_is() {
        let mut one = Durations::default();
        (0..100).for_each(|_| one.add(Span::from_micros(12_345)));
        assert_eq!((one.median(), one.count()), (Some(Span::from_micros(12_345)), 100));
    }
}
