//! The command: everything that can be wrong is found before the first attempt.

use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::exchange::Exchange;
use super::failure::HttpFailure;
use crate::command_error::CommandError;
use crate::flags::HttpFlags;
use crate::stderr;

/// The exit codes of a process that a signal ended, as shells have them: 128 and its number.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;
/// The time for an exchange that was told to end to put its files away.
const FAREWELL: Duration = Duration::from_millis(100);

/// Makes the request, and returns the exit code.
///
/// # Errors
/// A flag or a file that is wrong; nothing is sent then.
pub(crate) fn http(flags: &HttpFlags) -> Result<ExitCode, CommandError> {
    Exchange::of(flags).map(run)
}

fn run(exchange: Exchange) -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(until_signal(exchange));
            // A reader of standard output that does not read must not delay the end.
            runtime.shutdown_background();
            code
        }
        Err(error) => stderr::refuse(&format!("no threads to run on: {error}")),
    }
}

async fn until_signal(exchange: Exchange) -> ExitCode {
    let handlers = signal(SignalKind::interrupt())
        .and_then(|interrupt| Ok((interrupt, signal(SignalKind::terminate())?)));
    let (mut interrupt, mut terminate): (Signal, Signal) = match handlers {
        Ok(handlers) => handlers,
        Err(error) => return stderr::refuse(&format!("no signal handler: {error}")),
    };
    // On a thread of its own, because standard output may block.
    let mut task = tokio::spawn(exchange.run());
    let code = tokio::select! {
        ended = &mut task => return ended.map_or(ExitCode::FAILURE, HttpFailure::code_of),
        _ = interrupt.recv() => INTERRUPTED,
        _ = terminate.recv() => TERMINATED,
    };
    task.abort();
    let _ = timeout(FAREWELL, task).await;
    ExitCode::from(code)
}
