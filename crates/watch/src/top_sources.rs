//! The sources of most retries: space-saving counters (Metwally, Agrawal and El Abbadi, 2005) that fade.

use std::collections::BTreeMap;

/// A source of retries.
#[derive(Clone, Debug, PartialEq)]
pub struct TopSource {
    /// Its name as the log has it, at most 120 characters, without control characters.
    pub name: String,
    /// Its share of retries at most, from 0 to 1.
    pub share: f64,
    /// Its share at least: a counter that was taken over from another source may count too much.
    pub at_least: f64,
}

/// Counters of the sources with most retries.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopSources {
    counters: BTreeMap<String, SourceCounter>,
    total: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SourceCounter {
    count: f64,
    /// The part of the count that may be another source's.
    error: f64,
}

/// Counters: any source with more than 1/128 of all retries has one.
const COUNTERS: usize = 128;
/// Characters of a name.
const LONGEST: usize = 120;
/// The share of a count that is left after a second: a half after five.
const KEPT: f64 = 0.870_550_563_296_124;
/// A source that may have no retries at all is not named; nor is one with less than this share.
const NAMED: f64 = 0.01;

impl TopSources {
    /// Counts retries of a source.
    pub(crate) fn note(&mut self, name: &str, retries: f64) {
        self.total += retries;
        if let Some(counter) = self.counters.get_mut(cut(name)) {
            counter.count += retries;
            return;
        }
        let mut counter = SourceCounter { count: retries, error: 0.0 };
        if self.counters.len() >= COUNTERS {
            let least = self.counters.iter().min_by(|a, b| a.1.count.total_cmp(&b.1.count));
            let Some((least, taken)) = least.map(|(name, taken)| (name.clone(), *taken)) else {
                return;
            };
            self.counters.remove(&least);
            counter = SourceCounter { count: taken.count + retries, error: taken.count };
        }
        self.counters.insert(cut(name).to_owned(), counter);
    }

    /// A second has passed.
    pub(crate) fn fade(&mut self) {
        self.total *= KEPT;
        for counter in self.counters.values_mut() {
            *counter = SourceCounter { count: counter.count * KEPT, error: counter.error * KEPT };
        }
        self.counters.retain(|_, counter| counter.count > 0.01);
    }

    /// So many sources, those with most retries first.
    pub(crate) fn top(&self, most: usize) -> Vec<TopSource> {
        let share = |count: f64| if self.total > 0.0 { (count / self.total).min(1.0) } else { 0.0 };
        let named = self.counters.iter().map(|(name, counter)| TopSource {
            name: name.chars().map(|c| if c.is_control() { '?' } else { c }).collect(),
            share: share(counter.count),
            at_least: share(counter.count - counter.error),
        });
        let mut named: Vec<_> = named.filter(|source| source.at_least >= NAMED).collect();
        named.sort_by(|a, b| b.at_least.total_cmp(&a.at_least).then_with(|| a.name.cmp(&b.name)));
        named.truncate(most);
        named
    }
}

/// The first characters of a name.
fn cut(name: &str) -> &str {
    name.char_indices().nth(LONGEST).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_a_fifth_is_named_among_a_hundred_thousand_names() {
        let mut sources = TopSources::default();
        for n in 0..100_000 {
            if n % 5 == 0 {
                sources.note("10.0.0.1", 1.0);
            } else {
                sources.note(&format!("hostile-{n}"), 1.0);
            }
        }
        let top = sources.top(3);
        assert_eq!(top.len(), 1, "{top:?}");
        assert_eq!(top[0].name, "10.0.0.1");
        assert!((top[0].share - 0.2).abs() < 0.01, "{top:?}");
        assert!(sources.counters.len() <= COUNTERS);
    }

    #[test]
    fn names_are_cut_and_hold_no_control_characters() {
        let mut sources = TopSources::default();
        sources.note(&format!("\u{1b}[31m{}", "\u{e9}".repeat(1_000_000)), 1.0);
        let name = &sources.top(1)[0].name;
        assert_eq!((name.chars().count(), name.starts_with("?[31m")), (LONGEST, true));
    }

    #[test]
    fn what_was_long_ago_fades() {
        let mut sources = TopSources::default();
        sources.note("old", 1_000.0);
        (0..200).for_each(|_| sources.fade());
        sources.note("new", 1.0);
        assert_eq!(sources.top(5).len(), 1);
        assert_eq!(sources.top(5)[0].name, "new");
    }
}
