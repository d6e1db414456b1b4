//! The slots of a wheel that hold events.

/// Slots in one revolution: one bit each in 64 words, and one bit a word above them.
pub(super) const SLOTS: usize = 64 * 64;

/// A set of slots whose next member is found in two steps.
#[derive(Clone, Debug)]
pub(super) struct Occupied {
    words: [u64; 64],
    /// One bit for each word that is not zero.
    summary: u64,
}

impl Occupied {
    pub(super) const NONE: Self = Self { words: [0; 64], summary: 0 };

    #[inline]
    pub(super) const fn insert(&mut self, slot: usize) {
        self.words[slot / 64 % 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64 % 64);
    }

    pub(super) const fn remove(&mut self, slot: usize) {
        let word = slot / 64 % 64;
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
    use super::*;

    #[test]
    fn a_set_gives_its_members_in_order_and_is_empty_after_the_last() {
        let members = [0, 63, 64, 1_000, SLOTS - 1];
        let mut set = Occupied::NONE;
        members.iter().rev().for_each(|&slot| set.insert(slot));
        for slot in members {
            assert_eq!(set.first(), Some(slot));
            set.remove(slot);
        }
        assert_eq!(set.first(), None);
    }
}
