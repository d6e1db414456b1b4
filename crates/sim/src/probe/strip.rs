//! Single instants of a run, for the picture in which clumps are seen at once.

use stagger_core::Instant;

/// The instants of attempts, thinned evenly over callers when there are too many to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    instants: Vec<(u32, Instant)>,
    /// Callers whose number has one of these bits are left out.
    mask: u32,
}

/// More dots than this are one black bar on any screen.
const MAX_DOTS: usize = 20_000;

impl Strip {
    /// The attempts of a run that was observed elsewhere, in order, each with the number of its caller.
    pub fn of(attempts: impl IntoIterator<Item = (u32, Instant)>) -> Self {
        let mut strip = Self::default();
        attempts.into_iter().for_each(|(id, at)| strip.note(id, at));
        strip
    }

    /// Notes an attempt of this caller.
    #[inline]
    pub(crate) fn note(&mut self, id: u32, at: Instant) {
        if id & self.mask == 0 {
            self.instants.push((id, at));
            if self.instants.len() > MAX_DOTS {
                self.thin();
            }
        }
    }

    /// The instants in order, and one caller in how many they are of.
    pub fn instants(&self) -> (impl Iterator<Item = Instant> + '_, u32) {
        (self.instants.iter().map(|&(_, at)| at), self.mask + 1)
    }

    /// The same instants, each with the number of its caller.
    pub fn attempts(&self) -> impl Iterator<Item = (u32, Instant)> + '_ {
        self.instants.iter().map(|&(id, at)| (id, at))
    }

    #[cold]
    fn thin(&mut self) {
        while self.instants.len() > MAX_DOTS / 2 && self.mask < u32::MAX / 2 {
            self.mask = 2 * self.mask + 1;
            self.instants.retain(|&(id, _)| id & self.mask == 0);
        }
    }
}
