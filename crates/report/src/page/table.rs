//! All figures of one case as a table.

use stagger_sim::{CaseReport, EntryReport, RecoveryVerdict, Stat};

use crate::numbers::{grouped, number, percent, seconds, span};
use crate::render::escaped;
use crate::style::Styles;

/// A column: its head, and what it says of a row; `None` where there is nothing to say.
struct Column {
    head: &'static str,
    cell: fn(&CaseReport, &EntryReport) -> Option<String>,
}

const COLUMNS: [Column; 12] = [
    Column { head: "peak/s", cell: |_, row| Some(spread(row.peak, grouped)) },
    Column { head: "× un-jittered", cell: |case, row| Some(number(case.times_unjittered(row)?)) },
    Column { head: "attempts a call", cell: |_, row| Some(number(row.amplification)) },
    Column { head: "success", cell: |_, row| Some(percent(row.success)) },
    Column {
        head: "wasted",
        cell: |_, row| Some(percent(row.wasted)).filter(|_| row.wasted > 0.0),
    },
    Column { head: "recovery", cell: |_, row| Some(recovery(row)) },
    Column {
        head: "runs recovered",
        cell: |_, row| Some(format!("{} of {}", row.recovery.healed, row.runs)),
    },
    Column { head: "latency p50", cell: |_, row| row.latency[0].map(span) },
    Column { head: "p95", cell: |_, row| row.latency[1].map(span) },
    Column { head: "p99", cell: |_, row| row.latency[2].map(span) },
    Column { head: "longest queue", cell: |_, row| queue(row) },
    Column { head: "attempts a run", cell: |_, row| Some(spread(row.attempts, grouped)) },
];

/// The table in a box of its own, which scrolls where it does not fit.
pub(super) fn table(case: &CaseReport, styles: &Styles) -> String {
    let says_something =
        |column: &&Column| case.rows.iter().any(|row| (column.cell)(case, row).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
    let label = escaped(&case.label);
    let mut html = format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Figures: {label}\" tabindex=\"0\">\n\
         <table><caption>{label}</caption>\n<thead><tr><th scope=\"col\">entry</th>"
    );
    for column in &columns {
        html += &format!("<th scope=\"col\">{}</th>", column.head);
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &case.rows {
        html += &format!("<tr>{}", name(row, styles));
        for column in &columns {
            let cell = (column.cell)(case, row);
            html += &format!("<td>{}</td>", cell.unwrap_or_else(|| "–".into()));
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

fn name(row: &EntryReport, styles: &Styles) -> String {
    let key = crate::render::class_of(styles.get(&row.name));
    format!(
        "<th scope=\"row\"><span class=\"key {key}\" aria-hidden=\"true\"></span>{}</th>",
        escaped(&row.name)
    )
}

fn spread(stat: Stat, shown: fn(f64) -> String) -> String {
    match stat.sd > 0.0 {
        true => format!("{} <small>± {}</small>", shown(stat.mean), shown(stat.sd)),
        false => shown(stat.mean),
    }
}

fn recovery(row: &EntryReport) -> String {
    match row.verdict() {
        RecoveryVerdict::Recovered | RecoveryVerdict::Partly => {
            spread(row.recovery.seconds, seconds)
        }
        without => without.words().into(),
    }
}

fn queue(row: &EntryReport) -> Option<String> {
    (row.queued_most.mean > 0.0).then(|| spread(row.queued_most, grouped))
}
