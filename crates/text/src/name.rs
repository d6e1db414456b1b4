//! The known name that an unknown one was probably meant to be.

use strsim::osa_distance;

/// Mistakes that still let a name be recognised; two letters swapped are one of them.
const MAX_MISTAKES: usize = 2;

/// The one of `known` that is nearest to `name`, if one is near.
///
/// ```
/// use stagger_text::nearest;
/// assert_eq!(nearest("tiemout", ["url", "timeout"].into_iter()), Some("timeout"));
/// assert_eq!(nearest("webhook", ["url", "timeout"].into_iter()), None);
/// ```
pub fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let (mistakes, nearest) = known.map(|known| (osa_distance(name, known), known)).min()?;
    (mistakes <= MAX_MISTAKES && mistakes < nearest.len()).then_some(nearest)
}

/// The end of a message about an unknown name: the nearest one that there is, or all of them.
///
/// ```
/// use stagger_text::hint;
/// assert_eq!(hint("tiemout", &["url", "timeout"]), "did you mean timeout?");
/// assert_eq!(hint("webhook", &["url", "timeout"]), "there are url, timeout");
/// ```
#[must_use]
pub fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", known.join(", ")),
    }
}

/// The text of an error of serde's, with the nearest known name for an unknown one.
///
/// ```
/// let text = "unknown field `tiemout`, expected `url` or `timeout`";
/// assert_eq!(stagger_text::advised(text), format!("{text}; did you mean `timeout`?"));
/// ```
#[must_use]
pub fn advised(error: &str) -> String {
    let mut names = error.split('`').skip(1).step_by(2);
    let unknown = error.starts_with("unknown ").then(|| names.next()).flatten();
    match unknown.and_then(|name| nearest(name, names)) {
        Some(known) => format!("{error}; did you mean `{known}`?"),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_left_people_searching() {
        let near = |name| nearest(name, ["lockstep", "fleet", "list"].into_iter());
        assert_eq!(near("lokcstep"), Some("lockstep"));
        assert_eq!(near("fleets"), Some("fleet"));
        assert_eq!(near("hurricane"), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }

    #[test]
    fn another_spelling_of_a_key_finds_it() {
        let near = |name| nearest(name, ["url", "events", "timeout", "disable_after"].into_iter());
        assert_eq!(near("tiemout"), Some("timeout"));
        assert_eq!(near("disableAfter"), Some("disable_after"));
        assert_eq!(near("event"), Some("events"));
        assert_eq!(near("webhook"), None);
    }
}
