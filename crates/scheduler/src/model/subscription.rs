//! Patterns of event types: the part of a subscription that needs neither a payload nor a channel.

use std::str::FromStr;
use std::sync::Arc;

use stagger_core::ConfigError;

use super::EventType;
use super::text_form::text_form;

/// Longest pattern, in bytes: that of an event type.
const MAX_PATTERN: usize = 128;
/// Most wildcards of a pattern: matching one takes a step for each pair of words at most.
const MAX_WILDCARDS: usize = 4;
/// Stands for one or more whole words of an event type.
const WILDCARD: &str = "*";

/// A pattern of event types: words joined by full stops, in which the word `*` stands for one or more
/// whole words.
///
/// A pattern without `*` is one event type. `order.*` matches `order.paid` and `order.item.added`, and
/// not `order`. `*.failed` matches `payment.failed` and `invoice.payment.failed`. The dispatcher's own
/// types (`stagger.`) are matched only by a pattern whose first word is `stagger`. At most 128 bytes and
/// 4 wildcards.
///
/// ```
/// use stagger_scheduler::model::EventPattern;
/// let orders: EventPattern = "order.*".parse()?;
/// assert!(orders.matches(&"order.item.added".parse()?));
/// assert!(!orders.matches(&"order".parse()?));
/// assert!("order*".parse::<EventPattern>().is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventPattern(Arc<str>);

impl EventPattern {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an event type has the words that the pattern asks for.
    #[must_use]
    pub fn matches(&self, event_type: &EventType) -> bool {
        if event_type.is_operational() && self.0.starts_with(WILDCARD) {
            return false;
        }
        let (mut pattern, mut words) = (self.0.split('.'), event_type.as_str().split('.'));
        // The last wildcard can always take one word more: earlier ones need not be looked at again.
        let mut wildcard = None;
        loop {
            match (pattern.next(), words.next()) {
                (None, None) => return true,
                (Some(WILDCARD), Some(_)) => wildcard = Some((pattern.clone(), words.clone())),
                (Some(wanted), Some(word)) if wanted == word => {}
                _ => {
                    let Some((after, taken)) = &mut wildcard else { return false };
                    if taken.next().is_none() {
                        return false;
                    }
                    (pattern, words) = (after.clone(), taken.clone());
                }
            }
        }
    }
}

impl FromStr for EventPattern {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let is_word = |word: &str| word == WILDCARD || word.parse::<EventType>().is_ok();
        let wildcards = text.split('.').filter(|word| *word == WILDCARD).count();
        if text.len() > MAX_PATTERN || wildcards > MAX_WILDCARDS || !text.split('.').all(is_word) {
            let bound = "words of letters, digits, _ and - joined by full stops, at most 128 in all; \
                         * stands for one or more whole words, at most 4 times";
            return Err(ConfigError::new("events", text, bound));
        }
        Ok(Self(text.into()))
    }
}

text_form!(EventPattern);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, event_type: &str) -> bool {
        let pattern: EventPattern = pattern.parse().unwrap();
        pattern.matches(&event_type.parse().unwrap())
    }

    #[test]
    fn a_wildcard_took_no_word_or_a_part_of_one() {
        for (pattern, event_type, expected) in [
            ("order.paid", "order.paid", true),
            ("order.paid", "order.paid.late", false),
            ("order.*", "order.paid", true),
            ("order.*", "order.item.added", true),
            ("order.*", "order", false),
            ("order.*", "orders.paid", false),
            ("*.failed", "payment.failed", true),
            ("*.failed", "invoice.payment.failed", true),
            ("*.failed", "failed", false),
            ("*.failed", "payment.failed.again", false),
            ("a.*.c", "a.b.c", true),
            ("a.*.c", "a.c.c", true),
            ("a.*.c", "a.c", false),
            ("*.b.*.d", "a.b.b.c.d", true),
            ("*.b.*.d", "b.b.d", false),
            ("*", "anything.at.all", true),
            ("*", "stagger.delivery.dead", false),
            ("*.dead", "stagger.delivery.dead", false),
            ("stagger.*", "stagger.delivery.dead", true),
        ] {
            assert_eq!(matches(pattern, event_type), expected, "{pattern} and {event_type}");
        }
    }

    #[test]
    fn a_pattern_with_half_a_word_was_accepted() {
        for text in ["", "order*", "*.", "a..*", "**", "*.*.*.*.*", &"a".repeat(129)] {
            assert!(text.parse::<EventPattern>().is_err(), "{text}");
        }
    }

    /// The definition, word by word: a wildcard takes one word, and then ends or goes on.
    fn naive(pattern: &[&str], words: &[&str]) -> bool {
        match (pattern, words) {
            ([], []) => true,
            ([WILDCARD, after @ ..], [_, rest @ ..]) => naive(after, rest) || naive(pattern, rest),
            ([wanted, after @ ..], [word, rest @ ..]) => wanted == word && naive(after, rest),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_as_it_is_defined(
            pattern in "(a|b|\\*)(\\.(a|b|\\*)){0,5}",
            event_type in "(a|b)(\\.(a|b)){0,7}",
        ) {
            prop_assume!(pattern.split('.').filter(|word| *word == WILDCARD).count() <= MAX_WILDCARDS);
            let (p, t): (Vec<_>, Vec<_>) = (pattern.split('.').collect(), event_type.split('.').collect());
            prop_assert_eq!(matches(&pattern, &event_type), naive(&p, &t));
        }
    }
}
