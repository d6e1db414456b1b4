//! Rows of the table: timed by criterion, allocations counted here, sizes stated.

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;

use crate::allocations;

/// Repetitions of an operation, to find the one that allocates most.
const COUNTED: u32 = 1_000;

/// Measures rows, and prints what criterion does not know at the end.
pub(crate) struct Ledger {
    criterion: Criterion,
    lines: Vec<String>,
}

impl Ledger {
    /// An empty ledger: short runs, because a whole table must fit into a coffee break.
    pub(crate) fn new() -> Self {
        let criterion = Criterion::default()
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2))
            .without_plots()
            .configure_from_args();
        Self { criterion, lines: Vec::new() }
    }

    /// Times `op`, and counts what the greediest of its runs allocates.
    ///
    /// `name` is also a folder's name: letters, digits and blanks, at most 64 of them.
    pub(crate) fn time<T>(&mut self, name: &str, mut op: impl FnMut() -> T) {
        let worst = (0..COUNTED).map(|_| allocations::of(&mut op)).max().unwrap_or_default();
        self.criterion.bench_function(name, |b| b.iter(|| black_box(op())));
        self.lines.push(line(name, true, worst.calls, worst.bytes));
    }

    /// States a size in bytes.
    pub(crate) fn size(&mut self, name: &str, bytes: usize) {
        self.lines.push(line(name, false, 0, bytes as u64));
    }

    /// Prints the lines that `cargo xtask bench core` reads.
    #[expect(clippy::print_stdout, reason = "the report of a bench target is what it prints")]
    pub(crate) fn close(self) {
        self.criterion.final_summary();
        self.lines.iter().for_each(|line| println!("stagger-bench {line}"));
    }
}

fn line(name: &str, timed: bool, allocations: u64, bytes: u64) -> String {
    serde_json::json!({
        "name": name, "timed": timed, "allocations": allocations, "bytes": bytes,
    })
    .to_string()
}
