//! Small parts of sentences.

use crate::render::Html;

/// `a`, `a and b`, `a, b and c`; of many names the first few and how many more there are.
pub(super) fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|each| name(each)).collect();
    const MOST: usize = 5;
    let more = names.len().saturating_sub(MOST);
    if more > 1 {
        return format!("{} and {more} others", names[..MOST].join(", "));
    }
    match &names[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Around the names of entries within sentences, so that they are told from words.
const NAME: (char, char) = ('\u{e000}', '\u{e001}');

/// The name of an entry within a sentence.
pub(super) fn name(name: &str) -> String {
    format!("{}{}{}", NAME.0, name.replace([NAME.0, NAME.1], ""), NAME.1)
}

/// Names of entries within the text as elements, and no number parted from its unit.
pub(super) fn with_names(text: &Html) -> Html {
    let text = together(&text.to_string());
    Html::own(text.replace(NAME.0, "<em class=\"name\">").replace(NAME.1, "</em>"))
}

/// The same text, in which no line is broken between a number and its unit.
pub(super) fn with_units(text: &Html) -> Html {
    Html::own(together(&text.to_string()))
}

fn together(text: &str) -> String {
    let mut parts = text.split(' ');
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = joined.ends_with(|c: char| c.is_ascii_digit());
        let unit = part.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        joined.push(if is_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        joined.push_str(part);
    }
    joined
}

const UNITS: [&str; 5] = ["%", "ms", "s", "min", "h"];

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
    fn a_line_broke_between_a_number_and_its_unit() {
        let text = "for 10 s: 97.5 % within 5 ms, 3 sorts and 2 hedges.";
        let kept = "for 10\u{a0}s: 97.5\u{a0}% within 5\u{a0}ms, 3 sorts and 2 hedges.";
        assert_eq!(with_units(&Html::text(text)).to_string(), kept);
    }

    #[test]
    fn names_are_listed_as_people_do() {
        let listed = |names: &[&str]| listed(names).replace([NAME.0, NAME.1], "");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and f");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(listed(&many), "a, b, c, d, e and 2 others");
    }
}
