//! Groups of cases of a swept scenario, though what is swept is in their names.

use stagger_sim::{Scenario, ScenarioCase};

/// The parts that all cells of a sweep have in common.
#[derive(Debug)]
pub(super) struct CaseGroups {
    pub(super) own: CaseGroup,
    /// The parameters that are the same in all cells.
    pub(super) shared: Vec<(String, String)>,
}

/// The cases that the scenario itself has in every cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CaseGroup {
    /// There is one.
    One,
    /// They are an axis of its own, with this name and these values.
    Axis(String, Vec<String>),
    /// They are apart, under these names.
    Named(Vec<String>),
    /// There are more in one cell than in another, so each goes by its own name.
    Apart,
}

impl CaseGroups {
    /// The parts that these cells have in common; `free` if an axis is left for the scenario's own cases.
    pub(super) fn of(played: &[Scenario], free: bool) -> Self {
        let Some((first, others)) = played.split_first() else {
            return Self { own: CaseGroup::One, shared: Vec::new() };
        };
        let count = first.cases.len();
        let same = others.iter().all(|other| other.cases.len() == count);
        let everywhere =
            |known: &&(String, String)| others.iter().all(|other| other.parameters.contains(known));
        let own = match count {
            _ if !same => CaseGroup::Apart,
            0 | 1 => CaseGroup::One,
            _ if free => axis(first, others),
            _ => CaseGroup::Named(names(first, others)),
        };
        Self { own, shared: first.parameters.iter().filter(everywhere).cloned().collect() }
    }
}

impl CaseGroup {
    /// The name by which the n-th case of a cell is told from its others.
    pub(super) fn group(&self, nth: usize, case: &ScenarioCase) -> String {
        match self {
            Self::One | Self::Axis(..) => String::new(),
            Self::Named(names) => names.get(nth).cloned().unwrap_or_default(),
            Self::Apart => case.label.clone(),
        }
    }
}

/// By the values that the scenario varies, where they are the same in all cells; else by names.
fn axis(first: &Scenario, others: &[Scenario]) -> CaseGroup {
    let values = |scenario: &Scenario| -> Vec<String> {
        scenario.cases.iter().map(|case| case.value.to_string()).collect()
    };
    let own = values(first);
    let distinct = own.iter().enumerate().all(|(nth, value)| !own[..nth].contains(value));
    match &first.varied {
        Some(varied) if distinct && others.iter().all(|other| values(other) == own) => {
            CaseGroup::Axis(varied.clone(), own)
        }
        _ => CaseGroup::Axis("case".to_owned(), names(first, others)),
    }
}

/// Each name without the parts in which cells differ: those say what is swept.
fn names(first: &Scenario, others: &[Scenario]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (nth, case) in first.cases.iter().enumerate() {
        let everywhere = |&(place, part): &(usize, &str)| {
            let mut others = others.iter().filter_map(|other| other.cases.get(nth));
            others.all(|other| other.label.split(", ").nth(place) == Some(part))
        };
        let parts = case.label.split(", ").enumerate().filter(everywhere);
        let name = parts.map(|(_, part)| part).collect::<Vec<_>>().join(", ");
        let taken = name.is_empty() || names.contains(&name);
        names.push(if taken { format!("case {}", nth + 1) } else { name });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(varied: Option<&str>, cases: &[(&str, f64)]) -> Scenario {
        let case = |&(label, value): &(&str, f64)| ScenarioCase::new(label.to_owned(), value);
        Scenario {
            varied: varied.map(str::to_owned),
            cases: cases.iter().map(case).collect(),
            ..Scenario::default()
        }
    }

    #[test]
    fn a_swept_value_in_the_name_of_a_case_parts_no_cells() {
        let cells = [
            scenario(Some("load"), &[("5 callers, up at 1s", 5.0), ("5 callers, up at 2s", 5.0)]),
            scenario(Some("load"), &[("9 callers, up at 1s", 9.0), ("9 callers, up at 2s", 9.0)]),
        ];
        let names = ["up at 1s", "up at 2s"].map(str::to_owned);
        assert_eq!(CaseGroups::of(&cells, false).own, CaseGroup::Named(names.to_vec()));
        assert_eq!(
            CaseGroups::of(&cells, true).own,
            CaseGroup::Axis("case".to_owned(), names.to_vec())
        );
    }

    #[test]
    fn what_a_scenario_varies_is_the_axis_that_nobody_asked_for() {
        let cell = || scenario(Some("load [1/s]"), &[("load 300/s", 300.0), ("load 500/s", 500.0)]);
        let own = CaseGroups::of(&[cell(), cell()], true).own;
        let values = ["300", "500"].map(str::to_owned);
        assert_eq!(own, CaseGroup::Axis("load [1/s]".to_owned(), values.to_vec()));
    }

    #[test]
    fn cases_without_a_name_in_common_are_numbered_and_unequal_cells_stay_apart() {
        let cells =
            [scenario(None, &[("a", 0.0), ("b", 0.0)]), scenario(None, &[("c", 0.0), ("d", 0.0)])];
        let names = ["case 1", "case 2"].map(str::to_owned);
        assert_eq!(CaseGroups::of(&cells, false).own, CaseGroup::Named(names.to_vec()));
        let unequal = [cells[0].clone(), scenario(None, &[("c", 0.0)])];
        assert_eq!(CaseGroups::of(&unequal, true).own, CaseGroup::Apart);
    }

    #[test]
    fn parameters_that_are_swept_are_not_shared() {
        let with = |base: &str| Scenario {
            parameters: vec![("base".into(), base.into()), ("cap".into(), "1s".into())],
            ..scenario(None, &[("", 0.0)])
        };
        let shared = CaseGroups::of(&[with("1ms"), with("2ms")], true).shared;
        assert_eq!(shared, [("cap".to_owned(), "1s".to_owned())]);
    }
}
