//! The chores of stagger: `cargo xtask <chore>`.

use std::process::ExitCode;

use clap::Parser;

mod against;
mod checks;
mod chore;
mod clients;
mod dispatcher_contracts;
mod formats;
mod outages;
mod release;
mod replay_corpus;
mod site;
mod tidy;
mod tune;
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
