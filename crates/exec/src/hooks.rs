//! Hooks of a call: command lines that run before each retry, and after the final failure.
//!
//! A hook that fails or runs out of time is told, and changes nothing: neither the attempts nor the exit code.

use std::ffi::OsString;

use stagger::{AttemptInfo, Clock, Stop, TokioTime};
use stagger_core::Span;
use tokio::process::Command;

use crate::command::mark;
use crate::context::CallContext;
use crate::outcome::AttemptOutcome;
use crate::side_command::{SideLimits, on_standard_error, run_beside, shell};

/// The exit code of the attempt before, as `$?` has it.
const STATUS: &str = "STAGGER_STATUS";
/// The end of the attempt before, by its name in the log.
const OUTCOME: &str = "STAGGER_OUTCOME";
/// The delay that has passed before a retry, in whole milliseconds.
const DELAY: &str = "STAGGER_DELAY_MS";
/// The number of attempts that were made.
const ATTEMPTS: &str = "STAGGER_ATTEMPTS";
/// The stop reason, by its name.
const STOP: &str = "STAGGER_STOP";

/// The hooks of a call, each a command line for `sh`.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// Runs after the delay, and before the attempt that follows.
    pub before_retry: Option<OsString>,
    /// Runs when no attempt has succeeded and none follows, unless a signal has ended the call.
    pub on_failure: Option<OsString>,
    /// The time that a hook or a check may take.
    pub time: Span,
}

impl Hooks {
    /// Runs the hook before attempt `info.number`; returns the attempt with the time that is left then.
    pub(crate) async fn before_retry(
        &self,
        context: &CallContext,
        mut info: AttemptInfo,
    ) -> AttemptInfo {
        let Some(script) = self.before_retry.as_ref().filter(|_| info.number > 1) else {
            return info;
        };
        let since = TokioTime.now();
        let mut command = hook(context, script);
        mark(&mut command, &info, true);
        command.env(DELAY, context.delay.get().to_duration().as_millis().to_string());
        let ended =
            run_beside(context, command, SideLimits { time: self.time, deadline: true }).await;
        tell(context, "--before-retry", &ended);
        let spent = TokioTime.now() - since;
        info.remaining = info.remaining.map(|left| left - spent);
        info
    }

    /// Runs the hook after the final failure.
    pub(crate) async fn on_failure(&self, context: &CallContext, stop: Stop) {
        let Some(script) = self.on_failure.as_ref().filter(|_| context.caught.get().is_none())
        else {
            return;
        };
        let mut command = hook(context, script);
        command.env(ATTEMPTS, context.number.get().to_string()).env(STOP, stop.name());
        let ended =
            run_beside(context, command, SideLimits { time: self.time, deadline: false }).await;
        tell(context, "--on-failure", &ended);
    }
}

/// A hook that knows the end of the last attempt.
fn hook(context: &CallContext, script: &OsString) -> Command {
    let mut command = shell(script);
    command.stdout(on_standard_error());
    if let Some(last) = context.last.borrow().as_ref() {
        command.env(STATUS, last.code().to_string()).env(OUTCOME, last.name());
    }
    command
}

fn tell(context: &CallContext, flag: &str, ended: &AttemptOutcome) {
    if !ended.is_success() {
        context.reporter.remark(&format!("the command of {flag} {}", ended.words()));
    }
}
