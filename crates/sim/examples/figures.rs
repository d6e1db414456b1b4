//! Prints the figures of a scenario: `cargo run --release -p stagger-sim --example figures L3 200`.
#![allow(clippy::print_stdout, reason = "an example")]

use std::num::NonZeroUsize;

use stagger_sim::{Named, StormOptions, ThreadPool};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "L3".to_owned());
    let runs = arguments.next().map(|runs| runs.parse()).transpose()?;
    let options = StormOptions { runs, ..StormOptions::default() };
    let named = Named::find(&name).ok_or("no such scenario")?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let report = named.scenario(&options)?.run(&ThreadPool::new(threads));
    for case in &report.cases {
        println!("{}", case.label);
        for row in &case.rows {
            println!(
                "  {:<22} peak {:>8.0}±{:<5.0} before {:>6.0} amp {:>8.3} ok {:>7.3} % \
                 wasted {:>5.1} % healed {:>3}/{:<3} in {:>8.2}±{:<6.2} queue {:>7.0} att {:>9.1}±{:<6.1} ev {}",
                row.name,
                row.peak.mean,
                row.peak.sd,
                row.peak_retries.mean,
                row.amplification,
                row.success * 100.0,
                row.wasted * 100.0,
                row.recovery.healed,
                row.runs,
                row.recovery.seconds.mean,
                row.recovery.seconds.sd,
                row.queued_most.mean,
                row.attempts.mean,
                row.attempts.sd,
                row.events,
            );
        }
    }
    Ok(())
}
