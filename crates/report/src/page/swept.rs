//! The results of a sweep, in words.

use super::words::{listed, name};
use crate::grid::{GridPanel, HeatGrid};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Healed;
    use crate::page::words::with_names;
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
}
