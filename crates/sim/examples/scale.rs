//! Model P at a size of one's choice: `cargo run --release -p stagger-sim --example scale 1000000`.
#![allow(clippy::print_stdout, reason = "an example")]

use stagger_core::{Instant, Span};
use stagger_sim::{Arrivals, Fault, Law, Plan, Schedule, Trouble, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let callers = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse())?;
    let schedule = Schedule { base: Span::from_millis(500), cap: Span::from_secs(10), attempts: 4 };
    let mut plan = Plan::new(Arrivals::Together { callers }, Law::Full.caller(&schedule)?);
    let up = Instant::ORIGIN + Span::from_secs(1);
    plan.faults.push(Fault::new(Trouble::Refuse, Instant::ORIGIN, up));
    let start = std::time::Instant::now();
    let played = World::new().play(&plan, 42);
    let took = start.elapsed().as_secs_f64();
    println!(
        "{callers} clients: {} events in {took:.3} s, {:.2} M/s, {:.2} % served, digest {:016x}, peak {} MiB",
        played.events,
        played.events as f64 / took / 1e6,
        played.succeeded as f64 * 100.0 / played.calls as f64,
        played.digest,
        std::fs::read_to_string("/proc/self/status")?
            .lines()
            .find_map(|line| line
                .strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok())
            .unwrap_or(0)
            / 1024,
    );
    Ok(())
}
