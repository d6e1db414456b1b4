//! Behaviour of peers on an input, beside ours on the same one. `cargo xtask bench peers --facts` runs this.
//!
//! Every line is observed here and now; nothing is quoted.

use std::error::Error;

mod breakers;
mod budgets;
mod delays;
mod hints;

fn main() -> Result<(), Box<dyn Error>> {
    println!("| input | peer | what it did | stagger |");
    println!("| --- | --- | --- | --- |");
    delays::facts()?;
    hints::facts()?;
    budgets::facts()?;
    breakers::facts()
}

/// One line of the table.
fn fact(input: &str, peer: &str, theirs: impl std::fmt::Display, ours: impl std::fmt::Display) {
    println!("| {input} | {peer} | {theirs} | {ours} |");
}

/// In tokio's paused time, which jumps over waits.
fn paused<F: Future>(future: F) -> Result<F::Output, std::io::Error> {
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(tokio.block_on(future))
}
