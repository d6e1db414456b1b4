//! The chores of stagger: `cargo xtask <chore>`.

use std::process::ExitCode;

use clap::Parser;

mod bench;
mod chore;
mod contracts;
mod crash;
mod features;
mod fleet;
mod format;
mod golden;
mod rig;
mod tidy;
mod vectors;
mod workspace;

fn main() -> ExitCode {
    match chore::Chore::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            format::complain(&*error);
            ExitCode::from(2)
        }
    }
}
