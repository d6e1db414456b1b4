//! The chores of stagger: `cargo xtask <chore>`.

use std::process::ExitCode;

use clap::Parser;

mod chore;
mod contracts;
mod features;
mod golden;
mod harness;
mod tidy;
mod vectors;

fn main() -> ExitCode {
    match chore::Chore::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            xtask_workbench::complain("xtask", &*error);
            ExitCode::from(2)
        }
    }
}
