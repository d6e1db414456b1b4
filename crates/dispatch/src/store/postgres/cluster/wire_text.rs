//! Hints as the text of a notification: words, and shards as the 64 digits of their bits.

use std::fmt::Write;

use crate::store::{Notification, ShardId, Shards};

const ROLL: &str = "roll";
const NEWS: &str = "news";
/// Bytes of a set of shards, one bit for each.
const BYTES: usize = Shards::COUNT / 8;

/// Notifications that have not been sent: any number, in one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    work: Shards,
    members: bool,
    settings: bool,
}

impl Bundle {
    /// All notifications.
    pub(super) const ALL: Self = Self { work: Shards::ALL, members: true, settings: true };

    pub(super) fn add(&mut self, notification: Notification) {
        match notification {
            Notification::Work(shards) => self.work = self.work.union(shards),
            Notification::Members => self.members = true,
            Notification::Settings => self.settings = true,
        }
    }

    pub(super) fn notifications(self) -> impl Iterator<Item = Notification> {
        let work = (!self.work.is_empty()).then_some(Notification::Work(self.work));
        let members = self.members.then_some(Notification::Members);
        work.into_iter().chain(members).chain(self.settings.then_some(Notification::Settings))
    }

    /// The text; none if there is nothing to say.
    pub(super) fn write(self) -> Option<String> {
        let words: Vec<_> = self.notifications().map(word).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Parses a text. Unknown words are ignored: another release may have them.
    pub(super) fn read(text: &str) -> Self {
        let mut bundle = Self::default();
        for word in text.split(' ') {
            match word {
                ROLL => bundle.add(Notification::Members),
                NEWS => bundle.add(Notification::Settings),
                digits => bundle.work = bundle.work.union(shards(digits).unwrap_or_default()),
            }
        }
        bundle
    }
}

fn word(notification: Notification) -> String {
    let Notification::Work(shards) = notification else {
        return (if notification == Notification::Members { ROLL } else { NEWS }).to_owned();
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
            shards.insert(ShardId(u8::try_from(8 * at + bit).ok()?));
        }
    }
    Some(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_of_all_kinds_are_read_as_written() {
        let mut bundle = Bundle::default();
        assert_eq!(bundle.write(), None);
        let some = |n: &[u8]| Notification::Work(n.iter().copied().map(ShardId).collect());
        for notification in
            [some(&[0, 255]), Notification::Settings, some(&[9]), Notification::Settings]
        {
            bundle.add(notification);
        }
        let text = bundle.write().unwrap();
        assert_eq!(text, format!("0102{}80 news", "0".repeat(58)));
        assert_eq!(Bundle::read(&text), bundle);
        assert_eq!(
            bundle.notifications().collect::<Vec<_>>(),
            [some(&[0, 9, 255]), Notification::Settings]
        );
        assert_eq!(Bundle::read(&Bundle::ALL.write().unwrap()), Bundle::ALL);
    }

    #[test]
    fn unknown_words_are_ignored() {
        for text in ["", "ab", "zz".repeat(32).as_str(), "\u{e4}".repeat(32).as_str(), "later=7"] {
            assert_eq!(Bundle::read(text), Bundle::default(), "{text}");
        }
        assert_eq!(
            Bundle::read("later=7 roll").notifications().collect::<Vec<_>>(),
            [Notification::Members]
        );
    }
}
