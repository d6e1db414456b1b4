//! The cost of a call here and with the peers, in one run. `cargo xtask bench peers` reads the output.
//!
//! Every group has its own bare loop, and exactly one row named `stagger`. Rounds are interleaved,
//! so that a noisy neighbour meets all rows alike.

use std::error::Error;

mod allocations;
mod breakers;
mod budgets;
mod calls;
mod delays;
mod group;
mod operation;
mod reasons;
mod services;
mod sizes;
mod stopwatch;

use group::Effort;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let effort = Effort::of(&arguments);
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let mut rows = calls::rows(&tokio, effort)?;
    rows.extend(services::rows(&tokio, effort)?);
    rows.extend(delays::rows(&tokio, effort)?);
    rows.extend(budgets::rows(effort)?);
    rows.extend(breakers::rows(&tokio, effort)?);
    let _inside = tokio.enter();
    let report = serde_json::json!({ "rows": rows, "sizes": sizes::rows()? });
    println!("{report}");
    Ok(())
}
