//! The command: flags to a plan, a plan to an exit code.

use std::process::ExitCode;

use tokio::runtime::Builder;

use super::plan::Plan;
use super::run::run;
use crate::flags::ExecFlags;
use crate::stderr;

/// The code of a failure of stagger itself, apart from the command's own: as of `timeout`, `env`
/// and `docker run`.
pub(super) const OWN_FAILURE: u8 = 125;

/// Runs the command.
pub(crate) fn exec(flags: &ExecFlags) -> ExitCode {
    let plan = match Plan::of(flags) {
        Ok(plan) => plan,
        Err(refusal) => return refusal.tell("exec"),
    };
    // One thread, so that a process that is told to stop has stopped when it is asked.
    let runtime = Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(run(plan))) {
        Ok(exit) => exit.finish(),
        Err(error) => {
            stderr::note(&format!("stagger: {error}"));
            ExitCode::from(OWN_FAILURE)
        }
    }
}
