//! The call: flags to an invocation, the engine beside the attempts and the signals, and an exit code.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use rustix::process::Signal;
use stagger::retry::Stop;
use stagger::{CallReport, Error, Outcome, Retrier, Verdict};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use super::attempt_outcome::{AttemptOutcome, OWN_FAILURE, signal_code};
use super::captured_output::reader_is_gone;
use super::context::CallContext;
use super::exit::Exit;
use super::host_ledger::HostLedger;
use super::invocation::Invocation;
use super::logging_timer::LoggingTimer;
use super::orphans;
use super::signals::{SignalRequest, Signals};
use super::supervisor::Supervisor;
use crate::command_error::CommandError;
use crate::flags::{ExecFlags, OutputMode};
use crate::stderr;

/// The signal of a process that writes to a pipe without a reader.
const READER_GONE: i32 = Signal::PIPE.as_raw();

/// Runs the command.
///
/// # Errors
/// Flags or files that are wrong.
pub(crate) fn exec(flags: &ExecFlags) -> Result<ExitCode, CommandError> {
    let invocation = Invocation::of(flags)?;
    // One thread, so that a process that is told to stop has stopped when it is asked.
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(match runtime.and_then(|runtime| runtime.block_on(run(invocation))) {
        Ok(exit) => exit.finish(),
        Err(error) => {
            stderr::note(&format!("stagger: {error}"));
            ExitCode::from(OWN_FAILURE)
        }
    })
}

/// Runs the command under its policy, and returns the end of this process.
///
/// # Errors
/// When the system refuses signal handlers.
async fn run(invocation: Invocation) -> io::Result<Exit> {
    let mut signals = Signals::listen()?;
    orphans::adopt();
    let Invocation { policy, attempt_timeout, grace, rules, budget, command, reporter } =
        invocation;
    let context = CallContext::new(command, reporter, rules, attempt_timeout, grace);
    let supervisor = Rc::new(Supervisor::new(Rc::new(context)));
    let context = &supervisor.context;
    let ledger = Arc::new(HostLedger::new(&policy, budget));
    let time = LoggingTimer { supervisor: Rc::clone(&supervisor), ledger: Arc::clone(&ledger) };
    let retrier = Retrier::new(policy, time).with_ledger(ledger);
    let mut report = CallReport::default();
    let call = retrier
        .classify(|ended: &AttemptOutcome| classify_end(context, ended))
        .report(&mut report)
        .run_with(|info| supervisor.attempt(info));
    let end = run_with_signals(&mut signals, &supervisor, call).await;
    if supervisor.is_busy() {
        // The deadline has passed, and the engine has turned away from the attempt.
        context.expire();
        run_with_signals(&mut signals, &supervisor, supervisor.settled()).await;
    }
    if let Some(why) = retrier.ledger().trouble() {
        context.reporter.trouble(&format!("the budget grants nothing: {why}"));
    }
    context.reporter.stops(stop(end));
    let released = release(&mut signals, context).await;
    Ok(exit(context, released))
}

/// Polls `work` and does what signals ask for; `None` when one came while no attempt was under way.
async fn run_with_signals<T>(
    signals: &mut Signals,
    supervisor: &Supervisor,
    work: impl Future<Output = T>,
) -> Option<T> {
    let context = &supervisor.context;
    let mut work = pin!(work);
    loop {
        let request = tokio::select! {
            biased;
            request = signals.next() => request,
            done = &mut work => return Some(done),
        };
        match request {
            SignalRequest::End(signal) => {
                context.reporter.interrupted(signal);
                context.pass_on(signal);
                if !supervisor.is_busy() {
                    return None;
                }
            }
            other => handle(context, other),
        }
    }
}

/// Does what job control asks for.
fn handle(context: &CallContext, request: SignalRequest) {
    match request {
        SignalRequest::Stop => context.stop(),
        SignalRequest::GoOn => context.resume(false),
        SignalRequest::Forward(signal) => context.forward(signal),
        SignalRequest::Child => context.child_changed(),
        SignalRequest::End(_) => {}
    }
}

/// Returns the outcome of an attempt, all things considered.
fn classify_end(context: &CallContext, ended: &AttemptOutcome) -> Outcome {
    if context.caught.get().is_some() {
        return Outcome::new(Verdict::Cancelled);
    }
    let outcome = context.rules.outcome(ended);
    if !outcome.verdict.is_retryable() {
        return outcome;
    }
    if context.group.get().is_some() {
        context
            .reporter
            .trouble("processes of this attempt are left, and another one would race them");
        return Outcome::new(Verdict::Permanent);
    }
    if context.may_follow() && reader_is_gone() {
        context.reporter.remark("the reader of standard output has gone");
        context.reader_gone.set(true);
        return Outcome::new(Verdict::Permanent);
    }
    outcome
}

fn stop(end: Option<Result<(), Error<AttemptOutcome>>>) -> Stop {
    match end {
        Some(Ok(())) => Stop::Succeeded,
        Some(Err(error)) => error.stop(),
        None => Stop::Cancelled,
    }
}

/// Lets out what was kept of the last attempt. Standard output may be slow or stuck, so a thread
/// writes and signals are still heard.
async fn release(signals: &mut Signals, context: &CallContext) -> io::Result<()> {
    let Some(output) = context.output.take() else { return Ok(()) };
    let succeeded = context.last.borrow().as_ref().is_some_and(AttemptOutcome::is_success);
    let whole = succeeded || context.command.output == OutputMode::Last;
    let mut writing = spawn_blocking(move || output.release(whole));
    loop {
        tokio::select! {
            biased;
            request = signals.next() => match request {
                // The thread may hang for ever, and the runtime would wait for it.
                SignalRequest::End(signal) => {
                    let _ = Exit::Signal(signal).finish();
                    std::process::exit(i32::from(signal_code(signal)));
                }
                other => handle(context, other),
            },
            written = &mut writing => {
                return written.unwrap_or_else(|error| Err(io::Error::other(error)));
            }
        }
    }
}

fn exit(context: &CallContext, released: io::Result<()>) -> Exit {
    if let Some(signal) = context.caught.get() {
        return Exit::Signal(signal);
    }
    if context.reader_gone.get() {
        return Exit::Code(signal_code(READER_GONE));
    }
    let last = context.last.borrow().clone();
    match released {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // A failure that is final anyway says more than its output that went nowhere.
            if last.as_ref().is_some_and(AttemptOutcome::is_success) {
                return Exit::Code(signal_code(READER_GONE));
            }
        }
        Err(error) => {
            context.reporter.trouble(&format!("cannot write to standard output: {error}"));
            return Exit::Code(OWN_FAILURE);
        }
        Ok(()) => {}
    }
    if let Some(AttemptOutcome::Signalled(signal)) = last
        && let Some(typed_key) = typed_key(context, signal)
    {
        return Exit::JobSignal(typed_key);
    }
    Exit::Code(last.map_or(OWN_FAILURE, |ended| ended.code()))
}

/// The signal of a key that the command's user pressed. It went to the group that had the terminal
/// only: the rest of the job, such as the script around this process, still has to get it.
fn typed_key(context: &CallContext, signal: i32) -> Option<Signal> {
    let keys = [Signal::INT, Signal::QUIT];
    let typed_key = Signal::from_named_raw(signal).filter(|signal| keys.contains(signal));
    typed_key.filter(|_| context.terminal.was_lent())
}
