//! Small parts of sentences.

/// `a`, `a and b`, `a, b and c`; of many names the first few and how many more there are.
pub(super) fn listed(names: &[&str]) -> String {
    const MOST: usize = 5;
    let more = names.len().saturating_sub(MOST);
    if more > 1 {
        return format!("{} and {more} others", names[..MOST].join(", "));
    }
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The first word with a capital letter, unless it is the name of an entry.
pub(super) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}", rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_people_do() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and f");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(listed(&many), "a, b, c, d, e and 2 others");
    }
}
