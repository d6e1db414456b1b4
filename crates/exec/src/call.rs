//! The call: the engine beside the attempts and the signals, and an exit code.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use rustix::process::Signal;
use stagger::{
    CallReport, Error, Hint, OsEntropy, Outcome, Retrier, Sleep, Stop, TokioTime, Verdict,
};
use stagger_core::{LongHint, Policy, Span};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use crate::budget::{BudgetFile, HostLedger};
use crate::check::Check;
use crate::command::{AttemptCommand, Input, OutputMode, is_inside};
use crate::context::CallContext;
use crate::cool_off::CoolOffFile;
use crate::engine_policy::for_engine;
use crate::hooks::Hooks;
use crate::outcome::{AttemptOutcome, NOT_NOW, OWN_FAILURE};
use crate::output::reader_is_gone;
use crate::output_rules::OutputRules;
use crate::process_group::adopt_orphans;
use crate::reporter::{AttemptLog, Reporter, Verbosity, say, short};
use crate::retry_rules::RetryRules;
use crate::signals::{Exit, SignalRequest, Signals, signal_code};
use crate::supervisor::{BesideAttempts, LoggingTimer, Supervisor};

/// The signal of a process that writes to a pipe without a reader.
const READER_GONE: i32 = Signal::PIPE.as_raw();

/// A call: its command, its policy and its rules, settled before the first attempt.
#[derive(Debug)]
pub struct Invocation {
    /// The program and its arguments; empty only where there are checks, which are the whole attempt then.
    pub argv: Vec<OsString>,
    /// The policy. Its limit for an attempt is the time after which the whole process group is ended.
    pub policy: Policy,
    /// Whether attempts are repeated inside an attempt of another call too; layers multiply.
    pub nested: bool,
    /// The time that a command has to end by itself before it is killed.
    pub grace: Span,
    /// The ends of an attempt that are worth another one.
    pub rules: RetryRules,
    /// A budget that other processes share.
    pub budget: Option<BudgetFile>,
    /// A cool-off that other processes keep too.
    pub cool_off: Option<CoolOffFile>,
    /// Lines of the output that matter; only for output that is kept back.
    pub output_rules: OutputRules,
    /// Checks that decide whether an attempt succeeded; without one the command's exit code does.
    pub checks: Vec<Check>,
    /// Commands before each retry and after the final failure.
    pub hooks: Hooks,
    /// The command's standard input.
    pub input: Input,
    /// The treatment of the command's output.
    pub output: OutputMode,
    /// The amount of messages on standard error.
    pub verbosity: Verbosity,
    /// A line of JSON for each attempt.
    pub log: Option<AttemptLog>,
}

impl Invocation {
    /// Runs the command under its policy. The exit code is that of the last attempt, or one of stagger's own; after a
    /// signal this process dies of it and does not return.
    #[must_use]
    pub fn run(self) -> ExitCode {
        // One thread, so that a process that is told to stop has stopped when it is asked.
        let runtime = Builder::new_current_thread().enable_all().build();
        let ended = runtime.and_then(|runtime| {
            let ended = runtime.block_on(run(self));
            // A name that is being looked up has no bound.
            runtime.shutdown_background();
            ended
        });
        match ended {
            Ok(exit) => exit.finish(),
            Err(error) => {
                say(&error.to_string());
                ExitCode::from(OWN_FAILURE)
            }
        }
    }
}

/// Makes the attempts, and returns the end of this process.
///
/// # Errors
/// When the system refuses signal handlers.
async fn run(invocation: Invocation) -> io::Result<Exit> {
    let mut signals = Signals::listen()?;
    adopt_orphans();
    let Invocation { argv, policy: whole, grace, rules, budget, input, output, .. } = invocation;
    let single = is_inside() && !invocation.nested;
    let most = if single { Some(1) } else { whole.limits().max_attempts() };
    let command = AttemptCommand { argv, input, output, most };
    let reporter = Reporter::new(invocation.verbosity, invocation.log, most, single);
    let (rules, timeout) = ((rules, invocation.output_rules), whole.limits().attempt_timeout());
    let context = CallContext::new((command, reporter), rules, timeout, grace, invocation.cool_off);
    let beside = BesideAttempts { checks: invocation.checks, hooks: invocation.hooks };
    let supervisor = Rc::new(Supervisor::new(context, beside));
    let context = &supervisor.context;
    let spent = match wait_for_cool_off(&mut signals, &supervisor, &whole).await {
        Ok(spent) => spent,
        Err(exit) => return Ok(exit),
    };
    let policy = for_engine(&whole, single, spent);
    let ledger = Arc::new(HostLedger::new(&policy, budget));
    let time = LoggingTimer { supervisor: Rc::clone(&supervisor), ledger: Arc::clone(&ledger) };
    let retrier = Retrier::new(policy, time).with_ledger(ledger);
    let mut report = CallReport::default();
    let call = retrier
        .retry_with(|info| supervisor.attempt(info))
        .classify(|ended| classify_end(context, ended))
        .report(&mut report);
    let end = run_with_signals(&mut signals, &supervisor, call.into_future()).await;
    if supervisor.is_busy() {
        // The deadline has passed, and the engine has turned away from the attempt.
        context.expire();
        run_with_signals(&mut signals, &supervisor, supervisor.settled()).await;
    }
    if let Some(why) = retrier.ledger().trouble() {
        context.reporter.trouble(&format!("the budget grants nothing: {why}"));
    }
    if let Some(why) = context.cool_off.as_ref().and_then(CoolOffFile::trouble) {
        context.reporter.trouble(&format!("the cool-off is not kept: {why}"));
    }
    let stop = stop(end);
    context.reporter.stops(stop);
    let released = release(&mut signals, context).await;
    if stop != Stop::Succeeded {
        run_with_signals(&mut signals, &supervisor, supervisor.after_failure(stop)).await;
    }
    Ok(exit(context, released))
}

/// Waits until the cool-off of other processes is over; returns the time that it took.
///
/// # Errors
/// The end of this process when the wait is longer than the policy's longest hint, or passes the deadline, or when a
/// signal came.
async fn wait_for_cool_off(
    signals: &mut Signals,
    supervisor: &Supervisor,
    policy: &Policy,
) -> Result<Span, Exit> {
    let context = &supervisor.context;
    let Some(file) = &context.cool_off else { return Ok(Span::ZERO) };
    let left = file.left();
    if left == Span::ZERO {
        return Ok(left);
    }
    let (rule, limits) = (policy.hints(), policy.limits());
    let room = limits.deadline().map(|deadline| deadline - limits.min_attempt_time());
    let fits = |wait: Span| room.is_none_or(|room| wait < room);
    let refused = |why: &str| {
        context.reporter.trouble(&format!("no attempt: cool-off in {}, {why}", file.name()));
        Exit::Code(NOT_NOW)
    };
    if rule.long() == LongHint::Stop && left > rule.max() {
        return Err(refused(&format!("for {}, is longer than {}", short(left), rule.max())));
    }
    if !fits(left) {
        return Err(refused(&format!("for {}, ends past the deadline", short(left))));
    }
    // Processes that wait for the same end must not meet there.
    let spread = rule.delay(Span::ZERO, left, &mut OsEntropy);
    let wait = if fits(spread) { spread } else { left };
    context.reporter.remark(&format!(
        "first attempt in {}: cool-off in {}",
        short(wait),
        file.name()
    ));
    match run_with_signals(signals, supervisor, TokioTime.sleep(wait)).await {
        Some(()) => Ok(wait),
        None => Err(Exit::Signal(context.caught.get().unwrap_or(READER_GONE))),
    }
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
            other => handle(context, signals, other),
        }
    }
}

/// Does what job control asks for.
fn handle(context: &CallContext, signals: &Signals, request: SignalRequest) {
    match request {
        SignalRequest::Stop => context.stop(signals.self_stop()),
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
    let mut outcome = context.rules.outcome(ended);
    if !outcome.verdict.is_retryable() {
        return outcome;
    }
    if let Some(hint) = context.destination_hint() {
        outcome = outcome.with_hint(Hint::AtLeast(hint));
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
                other => handle(context, signals, other),
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
