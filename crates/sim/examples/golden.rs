//! Every reference table with the lab's figures beside it, one cell a line, with tabs between:
//! table, case, entry, measure, theirs, ours, tolerance, within.
//!
//! `cargo run --release -p stagger-sim --example golden [PERCENT OF RUNS] [TABLES]`
#![allow(clippy::print_stdout, reason = "an example")]

use std::num::NonZeroUsize;

use stagger_sim::ThreadPool;

#[path = "../golden/cells.rs"]
mod golden;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let percent = arguments.next().map_or(Ok(100), |percent| percent.parse())?;
    let asked: Vec<String> = arguments.collect();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let lab = golden::Lab { percent, pool: ThreadPool::new(threads) };
    let mut tables: Vec<&str> = golden::cells().map(|cell| cell.table).collect();
    tables.dedup();
    tables.retain(|table| asked.is_empty() || asked.iter().any(|name| name == table));
    for table in tables {
        for verdict in lab.check(table) {
            let golden::Cell { table, case, entry, measure, text, .. } = verdict.cell;
            let (found, tolerance) = (verdict.found, verdict.tolerance);
            let within = verdict.is_within();
            println!(
                "{table}\t{case}\t{entry}\t{measure}\t{text}\t{found:.4}\t{tolerance:.4}\t{within}"
            );
        }
    }
    Ok(())
}
