//! The results of a sweep in words, and small parts of sentences.

use crate::grid::{GridPanel, HeatGrid};
use crate::render::Html;

/// The entries that heal everywhere and nowhere, and how often the others do.
pub(super) fn swept(grid: &HeatGrid) -> Option<String> {
    let counted: Vec<(String, usize, usize)> = grid.panels.iter().filter_map(counted).collect();
    let cells = counted.iter().map(|&(_, _, played)| played).max()?;
    let those = |holds: &dyn Fn(usize, usize) -> bool| -> Vec<&str> {
        let those = counted.iter().filter(|&&(_, healed, played)| holds(healed, played));
        those.map(|(name, ..)| name.as_str()).collect()
    };
    let always = those(&|healed, played| healed == played);
    let never = those(&|healed, _| healed == 0);
    let mut parts: Vec<String> = Vec::new();
    if !always.is_empty() {
        parts.push(format!("in all with {}", listed(&always)));
    }
    let mut between: Vec<&(String, usize, usize)> =
        counted.iter().filter(|&&(_, healed, played)| healed > 0 && healed < played).collect();
    between.sort_by_key(|&&(_, healed, _)| std::cmp::Reverse(healed));
    let more = between.len().saturating_sub(MOST);
    let of =
        |(entry, healed, _): &&(String, usize, usize)| format!("in {healed} with {}", name(entry));
    parts.extend(between.iter().take(MOST).map(of));
    if more > 0 {
        parts.push(format!("in fewer with {more} others"));
    }
    if !never.is_empty() {
        parts.push(format!("in none with {}", listed(&never)));
    }
    Some(format!("Of {cells} cells of the sweep every run recovers {}.", parts.join(", ")))
}

/// Entries between all and none that are named one by one.
const MOST: usize = 4;

/// Of one panel: its name, the cells that recover in every run, and all that were played.
fn counted(panel: &GridPanel) -> Option<(String, usize, usize)> {
    let (healed, played) = panel.healed();
    (played > 0).then(|| (panel.title(), healed, played))
}

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
    use crate::grid::Healed;
    use crate::render::Html;

    #[test]
    fn cells_are_counted_by_who_heals_in_them() {
        let panel = |name: &str, healed: [u64; 3]| GridPanel {
            name: name.into(),
            case: String::new(),
            cells: healed.map(|healed| Some(Healed { healed, runs: 2 })).to_vec(),
        };
        let panels = vec![
            panel("a", [2, 2, 2]),
            panel("b", [2, 1, 0]),
            panel("c", [0; 3]),
            panel("d", [1; 3]),
        ];
        let told = swept(&HeatGrid { panels, ..HeatGrid::default() });
        let told = with_names(&Html::text(&told.unwrap_or_default())).to_string();
        let told = told.replace("<em class=\"name\">", "").replace("</em>", "");
        let expected = "Of 3 cells of the sweep every run recovers in all with a, in 1 with b, in none with \
                        c and d.";
        assert_eq!(told, expected);
        assert_eq!(swept(&HeatGrid::default()), None);
    }

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
