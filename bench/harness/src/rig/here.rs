//! The runtime of the harness's own tasks.

use std::env;
use std::error::Error;

use xtask_workbench::cargo;

/// Runs on this thread alone, so that load and receiver take at most one core from what they measure.
pub(crate) fn run_here<T>(
    task: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<T, Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(task)
}

/// Does the same run by a build with optimisations, if this one has none: else the load would take
/// more of the machine than what it measures. None if this one will do.
pub(crate) fn run_optimised() -> Option<Result<bool, Box<dyn Error>>> {
    cfg!(debug_assertions).then(|| {
        let mut again = cargo();
        again.args(["run", "--quiet", "--release", "--package", "stagger-harness", "--"]);
        Ok(again.args(env::args_os().skip(1)).status()?.success())
    })
}
