//! The harness: `cargo xtask bench|crash|fleet|hostile|watch`, as a program of its own.

use std::process::ExitCode;

use clap::Parser;

mod bench;
mod command;
mod crash;
mod fleet;
mod hostile;
mod rig;
mod watch;

fn main() -> ExitCode {
    match command::Harness::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            xtask_workbench::complain("harness", &*error);
            ExitCode::from(2)
        }
    }
}
