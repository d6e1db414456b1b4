//! Suggests the nearest known name for an unknown one.

/// Slips that still let a name be recognised: one swap of letters counts as two.
const MAX_SLIPS: usize = 2;

/// The name of `known` that is nearest to `name`, if one is near.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let (slips, nearest) = known.map(|known| (distance(name, known), known)).min()?;
    (slips <= MAX_SLIPS && slips < nearest.len()).then_some(nearest)
}

/// Levenshtein's distance, one row at a time.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, a) in from.bytes().enumerate() {
        let mut corner = above;
        row[0] = above + 1;
        for (at, b) in to.bytes().enumerate() {
            let changed = corner + usize::from(a != b);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_left_people_searching() {
        let near = |name| nearest(name, ["url", "events", "timeout", "disable_after"].into_iter());
        assert_eq!(near("tiemout"), Some("timeout"));
        assert_eq!(near("disableAfter"), Some("disable_after"));
        assert_eq!(near("event"), Some("events"));
        assert_eq!(near("webhook"), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
