//! The table, and the bounds that its figures are held to.

use std::fmt;

use serde::Serialize;

use super::layout::Layout;

/// Retries for each call: the tenth that the default budget promises, and its floor.
const MOST: f64 = 0.12;
/// With fewer, a layout does not retry, and so shows nothing.
const LEAST: f64 = 0.05;
/// The worst second by the mean one.
const WORST: f64 = 1.5;

/// The figures of one layout in the outage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct LayoutRow {
    layout: Layout,
    pub(super) calls: u64,
    pub(super) retries_on_wire: u64,
    /// Retries for each call.
    ratio: f64,
    /// The most retries in one second by the mean, after the first window.
    pub(super) worst_second_over_mean: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
impl LayoutRow {
    /// A layout's calls and retries, and its retries in each second after the first window.
    pub(super) fn new(layout: Layout, calls: u64, retries: u64, each_second: &[u64]) -> Self {
        let sum: u64 = each_second.iter().sum();
        let worst = each_second.iter().max().copied().unwrap_or(0);
        Self {
            layout,
            calls,
            retries_on_wire: retries,
            ratio: retries as f64 / calls as f64,
            worst_second_over_mean: worst as f64 * each_second.len() as f64 / sum.max(1) as f64,
        }
    }

    /// The bounds that the figures break.
    fn broken(&self) -> Vec<String> {
        let Self { ratio, worst_second_over_mean: worst, .. } = *self;
        let bounds = [
            (ratio > MOST, format!("ratio {ratio:.3} is above {MOST}")),
            (ratio < LEAST, format!("ratio {ratio:.3} is below {LEAST}")),
            (worst > WORST, format!("worst second over mean {worst:.2} is above {WORST}")),
        ];
        let broken = bounds.into_iter().filter(|(broken, _)| *broken);
        broken.map(|(_, what)| format!("{}: {what}", self.layout)).collect()
    }
}

/// The layouts, one a row.
#[derive(Debug)]
pub(super) struct BudgetReport(pub(super) Vec<LayoutRow>);

impl BudgetReport {
    /// Every bound that a layout breaks.
    pub(super) fn broken(&self) -> Vec<String> {
        self.0.iter().flat_map(LayoutRow::broken).collect()
    }
}

impl fmt::Display for BudgetReport {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| layout | calls | retries on the wire | ratio | worst second by the mean |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        self.0.iter().try_for_each(|row| {
            let LayoutRow { calls, retries_on_wire, ratio, worst_second_over_mean, .. } = row;
            write!(f, "| {} | {calls} | {retries_on_wire} | {ratio:.3} ", row.layout)?;
            writeln!(f, "| {worst_second_over_mean:.2} |")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_held_alone() {
        let broken = |calls, retries, seconds: &[u64]| {
            BudgetReport(vec![LayoutRow::new(Layout::Plain, calls, retries, seconds)]).broken()
        };
        assert_eq!(broken(100, 12, &[3, 2, 2]), <[&str; 0]>::default());
        assert_eq!(broken(100, 13, &[3, 2, 2]), ["plain: ratio 0.130 is above 0.12"]);
        assert_eq!(broken(100, 4, &[3, 2, 2]), ["plain: ratio 0.040 is below 0.05"]);
        let bursts = broken(100, 12, &[4, 2, 2]);
        assert_eq!(bursts, ["plain: worst second over mean 1.50 is above 1.5"; 0]);
        assert_eq!(
            broken(100, 12, &[6, 2, 2]),
            ["plain: worst second over mean 1.80 is above 1.5"]
        );
    }

    #[test]
    fn a_row_has_the_name_of_its_layout() {
        let row = LayoutRow::new(Layout::SharedRedis, 100, 10, &[1]);
        assert!(
            BudgetReport(vec![row])
                .to_string()
                .contains("| shared-redis | 100 | 10 | 0.100 | 1.00 |")
        );
        let json = serde_json::to_string(&row).expect("figures are numbers");
        assert!(
            json.starts_with(r#"{"layout":"shared-redis","calls":100,"retries_on_wire":10,"#),
            "{json}"
        );
    }
}
