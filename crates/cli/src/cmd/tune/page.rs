//! The report for people: the verdict, the rows, the policies in words, and the policy file.

use std::fmt::Write;

use stagger_text::{brief, number, percent};
use stagger_tune::{TuneReport, TunedRow, summary};

use super::worlds::DescribedWorlds;
use crate::render::{align, hanging, plain, text, wrapped};
use crate::streams::USUAL_WIDTH;

/// Columns of a comment.
const COMMENT: usize = USUAL_WIDTH - "# ".len();
/// The columns of the table; the figures stand flush right.
const HEADER: [&str; 7] = ["   row", "success", "added load", "p99", "miss", "cost", "difference"];

/// The page in lines of at most `width` columns.
pub(super) fn table(report: &TuneReport, worlds: &DescribedWorlds, width: usize) -> String {
    let mut page = String::new();
    for line in [heading(report, worlds), report.sentence()] {
        let _ = writeln!(page, "{}\n", hanging(&line, width, 0));
    }
    let mut table = plain(&HEADER.map(str::to_owned));
    for row in &report.rows {
        table.add_row(cells(report, row));
    }
    align(&mut table, 1..HEADER.len());
    let _ = writeln!(page, "{}\n", text(&table));
    for row in report.rows.iter().filter(|row| row.on_front || is_recommended(report, row)) {
        let line = format!("{}: {}", row.name, summary(&row.policy));
        let _ = writeln!(page, "{}", hanging(&line, width, 2));
    }
    let _ = writeln!(page, "\n{}\n", hanging(READING, width, 0));
    page + &policy_file(report, worlds)
}

const READING: &str = "\
Means over the held-out worlds. p99: of the calls that succeed. miss: the share of calls that is missing for the \
objective. cost: 1000 x miss + added load + 0.1 x p99 / deadline. difference: of the cost to the row marked >, in the \
same worlds, with half of its 95 % interval. *: no row is as good in success, added load and p99, and better in one.";

fn is_recommended(report: &TuneReport, row: &TunedRow) -> bool {
    std::ptr::eq(report.recommended(), row)
}

fn cells(report: &TuneReport, row: &TunedRow) -> Vec<String> {
    let recommended = is_recommended(report, row);
    let marks = [(recommended, '>'), (row.on_front, '*')];
    let [first, second] = marks.map(|(is_so, mark)| if is_so { mark } else { ' ' });
    vec![
        format!("{first}{second} {}", row.name),
        percent(row.success),
        format!("{:+.3}", row.added_load),
        brief(row.p99),
        percent(row.miss).replace("less than", "<"),
        number(row.cost, ' '),
        if recommended { String::new() } else { difference(row) },
    ]
}

/// The difference of the cost with half of its interval; decimals where they tell anything.
fn difference(row: &TunedRow) -> String {
    let (low, high) = row.difference.interval();
    let (mean, half) = (row.difference.mean, (high - low) / 2.0);
    let decimals = if mean.abs() < 100.0 { 2 } else { 0 };
    format!("{mean:+.decimals$} ± {half:.decimals$}")
}

/// The seed, the objective, and the worlds.
fn heading(report: &TuneReport, worlds: &DescribedWorlds) -> String {
    let objective = report.options.objective;
    let p99 = objective.p99().map_or_else(String::new, |p99| format!(", 99% within {p99}"));
    format!(
        "seed {}, objective: {} within {}{p99}; worlds: {}{}",
        report.options.seed,
        objective.success(),
        objective.deadline(),
        listed(worlds),
        scaled(report),
    )
}

fn listed(worlds: &DescribedWorlds) -> String {
    let all = worlds.parameters.iter().map(|(name, value)| format!("{name} {value}"));
    all.collect::<Vec<_>>().join(", ")
}

fn scaled(report: &TuneReport) -> String {
    match report.scale > 1.0 {
        true => format!(
            "; simulated at 1/{} of load, capacity and processes",
            number(report.scale, ' ')
        ),
        false => String::new(),
    }
}

/// The policy file, with the verdict and its condition above it.
pub(super) fn policy_file(report: &TuneReport, worlds: &DescribedWorlds) -> String {
    let mut file = String::from("# Found by `stagger tune`.\n");
    for line in [heading(report, worlds), report.sentence()] {
        for part in wrapped(&line, COMMENT) {
            let _ = writeln!(file, "# {part}");
        }
    }
    let policy = toml::to_string(&report.recommended().policy);
    file + "\n" + &policy.expect("every policy can be written")
}
