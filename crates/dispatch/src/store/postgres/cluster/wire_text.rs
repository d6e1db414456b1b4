//! Hints as the text of a notification: words, and shards as the 64 digits of their bits.

use std::fmt::Write;

use crate::store::{Hint, Shard, Shards};

const ROLL: &str = "roll";
const NEWS: &str = "news";
/// Bytes of a set of shards, each bit one of them.
const BYTES: usize = Shards::COUNT / 8;

/// Hints that have been given and not sent: any number, in one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    work: Shards,
    roll: bool,
    news: bool,
}

impl Bundle {
    /// Everything that can be hinted at.
    pub(super) const ALL: Self = Self { work: Shards::ALL, roll: true, news: true };

    pub(super) fn add(&mut self, hint: Hint) {
        match hint {
            Hint::Work(shards) => self.work = self.work.union(shards),
            Hint::Roll => self.roll = true,
            Hint::News => self.news = true,
        }
    }

    pub(super) fn hints(self) -> impl Iterator<Item = Hint> {
        let work = (!self.work.is_empty()).then_some(Hint::Work(self.work));
        let roll = self.roll.then_some(Hint::Roll);
        work.into_iter().chain(roll).chain(self.news.then_some(Hint::News))
    }

    /// The text; none if there is nothing to say.
    pub(super) fn write(self) -> Option<String> {
        let words: Vec<_> = self.hints().map(word).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What a text says. Words that another release may have are passed over.
    pub(super) fn read(text: &str) -> Self {
        let mut bundle = Self::default();
        for word in text.split(' ') {
            match word {
                ROLL => bundle.add(Hint::Roll),
                NEWS => bundle.add(Hint::News),
                digits => bundle.work = bundle.work.union(shards(digits).unwrap_or_default()),
            }
        }
        bundle
    }
}

fn word(hint: Hint) -> String {
    let Hint::Work(shards) = hint else {
        return (if hint == Hint::Roll { ROLL } else { NEWS }).to_owned();
    };
    let mut bytes = [0_u8; BYTES];
    shards.iter().for_each(|shard| bytes[usize::from(shard.0 / 8)] |= 1 << (shard.0 % 8));
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn shards(digits: &str) -> Option<Shards> {
    let is_whole = digits.len() == 2 * BYTES && digits.is_ascii();
    let mut shards = Shards::NONE;
    for at in 0..if is_whole { BYTES } else { return None } {
        let byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        for bit in (0..8).filter(|bit| byte & (1 << bit) != 0) {
            shards.insert(Shard(u8::try_from(8 * at + bit).ok()?));
        }
    }
    Some(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_of_all_kinds_come_back_together() {
        let mut bundle = Bundle::default();
        assert_eq!(bundle.write(), None);
        let some = |n: &[u8]| Hint::Work(n.iter().copied().map(Shard).collect());
        for hint in [some(&[0, 255]), Hint::News, some(&[9]), Hint::News] {
            bundle.add(hint);
        }
        let text = bundle.write().unwrap();
        assert_eq!(text, format!("0102{}80 news", "0".repeat(58)));
        assert_eq!(Bundle::read(&text), bundle);
        assert_eq!(bundle.hints().collect::<Vec<_>>(), [some(&[0, 9, 255]), Hint::News]);
        assert_eq!(Bundle::read(&Bundle::ALL.write().unwrap()), Bundle::ALL);
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
        for text in ["", "ab", "zz".repeat(32).as_str(), "\u{e4}".repeat(32).as_str(), "later=7"] {
            assert_eq!(Bundle::read(text), Bundle::default(), "{text}");
        }
        assert_eq!(Bundle::read("later=7 roll").hints().collect::<Vec<_>>(), [Hint::Roll]);
    }
}
