//! One attempt at a time, which goes on when the engine drops its future, because a process does; and the time that
//! the engine waits by between attempts.

use std::cell::RefCell;
use std::future::{self, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use stagger::{AttemptInfo, Clock, Sleep, Stop, TokioTime};
use stagger_core::{Instant, Span};
use tokio::process::Child;

use crate::budget::HostLedger;
use crate::check::{Check, judge};
use crate::context::CallContext;
use crate::ending::{end_remaining, end_rest, ended, is_told_to_end, limit, overdue};
use crate::hooks::Hooks;
use crate::outcome::AttemptOutcome;
use crate::output::{CapturedOutput, Pipes};
use crate::process_group::ProcessGroup;

/// The time to read a stream that a process outside of the group holds open, after the group is gone.
const LAST_READ: Span = Span::from_millis(100);

/// The commands that run beside the attempts.
#[derive(Debug)]
pub(crate) struct BesideAttempts {
    pub(crate) checks: Vec<Check>,
    pub(crate) hooks: Hooks,
}

/// The supervisor of the attempts.
pub(crate) struct Supervisor {
    pub(crate) context: Rc<CallContext>,
    beside: Rc<BesideAttempts>,
    under_way: RefCell<Option<Pin<Box<dyn Future<Output = AttemptOutcome>>>>>,
}

impl Supervisor {
    pub(crate) fn new(context: CallContext, beside: BesideAttempts) -> Self {
        let (context, beside) = (Rc::new(context), Rc::new(beside));
        Self { context, beside, under_way: RefCell::new(None) }
    }

    /// Begins an attempt, and returns with its end. Dropped, it leaves the attempt under way.
    pub(crate) async fn attempt(&self, info: AttemptInfo) -> Result<(), AttemptOutcome> {
        self.context.begin(info.number);
        let attempt = attempt(Rc::clone(&self.context), Rc::clone(&self.beside), info);
        *self.under_way.borrow_mut() = Some(Box::pin(attempt));
        let ended = self.settled().await;
        if ended.is_success() { Ok(()) } else { Err(ended) }
    }

    /// The end of the attempt under way; never without one.
    pub(crate) fn settled(&self) -> impl Future<Output = AttemptOutcome> {
        future::poll_fn(|context| {
            let mut under_way = self.under_way.borrow_mut();
            let Some(attempt) = under_way.as_mut() else { return Poll::Pending };
            let polled = attempt.as_mut().poll(context);
            if let Poll::Ready(ended) = &polled {
                *under_way = None;
                self.context.keep(ended);
            }
            polled
        })
    }

    /// Runs the hook after the final failure.
    pub(crate) async fn after_failure(&self, stop: Stop) {
        self.beside.hooks.on_failure(&self.context, stop).await;
    }

    /// Whether an attempt is under way, or a command beside it.
    pub(crate) fn is_busy(&self) -> bool {
        self.under_way.borrow().is_some() || self.context.beside.get()
    }
}

async fn attempt(
    context: Rc<CallContext>,
    beside: Rc<BesideAttempts>,
    info: AttemptInfo,
) -> AttemptOutcome {
    let info = beside.hooks.before_retry(&context, info).await;
    let since = TokioTime.now();
    let mut ended = run_attempt(&context, &beside, info).await;
    context.terminal.take_back();
    if matches!(ended, AttemptOutcome::Signalled(_) | AttemptOutcome::TimedOut) {
        context.terminal.restore_modes();
    }
    if !beside.checks.is_empty() {
        ended = judge(&context, ended, &info, (&beside.checks, beside.hooks.time)).await;
        if !ended.is_success()
            && let Some(group) = context.group.get()
        {
            end_remaining(&context, group).await;
            context.group.set(Some(group).filter(|group| !group.is_gone()));
        }
    }
    context.reporter.ended(info.number, &ended, TokioTime.now() - since);
    ended
}

async fn run_attempt(
    context: &CallContext,
    beside: &BesideAttempts,
    info: AttemptInfo,
) -> AttemptOutcome {
    if context.caught.get().is_some() || context.expired.get() {
        return AttemptOutcome::Cancelled;
    }
    if context.command.argv.is_empty() {
        // The checks are all of the attempt.
        return AttemptOutcome::Ready(None);
    }
    match context.command.start(&info) {
        Ok(child) => watch(context, child, info.number, beside.checks.is_empty()).await,
        Err(error) => AttemptOutcome::not_started(&context.command.program(), &error),
    }
}

/// A child from its start to its end, which is final without checks.
async fn watch(
    context: &CallContext,
    mut child: Child,
    number: u32,
    is_final: bool,
) -> AttemptOutcome {
    // A child that was not waited for has an id.
    let Some(group) = ProcessGroup::of(&child) else { return AttemptOutcome::Signalled(0) };
    context.group.set(Some(group));
    context.terminal.offer(group);
    context.reporter.started(number, group.leader());
    let (mut pipes, output) = (Pipes::of(&mut child), CapturedOutput::new(&context.output_rules));
    let mut ended = tokio::select! {
        biased;
        (status, ()) = async { tokio::join!(ended(&mut child), output.fill(&mut pipes)) } => {
            status.map_or_else(|error| AttemptOutcome::OutputLost(error.to_string()), AttemptOutcome::of)
        }
        // What is not kept would come out in part, so there is no use in going on.
        () = output.overflow() => {
            cut_short(context, group, &mut child, &mut pipes, &output).await;
            AttemptOutcome::TimedOut
        }
        () = out_of_time(context) => {
            cut_short(context, group, &mut child, &mut pipes, &output).await;
            AttemptOutcome::TimedOut
        }
        never = overdue(context, group) => never,
    };
    let (retried, hint) = output.finish();
    context.hint.set(hint);
    if let (true, AttemptOutcome::Exited(code)) = (retried, &ended) {
        ended = AttemptOutcome::OutputMatched(*code);
    }
    if is_told_to_end(context) {
        end_rest(context, group).await;
    } else if is_final
        && ended != AttemptOutcome::TimedOut
        && context.rules.outcome(&ended).verdict.is_retryable()
    {
        end_remaining(context, group).await;
    }
    if group.is_gone() {
        context.group.set(None);
    }
    let lost = output.lost();
    if context.command.keeps_output() {
        // A part is worse than nothing: a reader takes it for the whole.
        *context.output.borrow_mut() = lost.is_none().then_some(output);
    }
    lost.map_or(ended, AttemptOutcome::OutputLost)
}

async fn out_of_time(context: &CallContext) {
    tokio::select! {
        () = limit(context.attempt_timeout) => {}
        () = context.expiry() => {}
    }
}

/// Ends the group of an attempt that ran out of its time.
async fn cut_short(
    context: &CallContext,
    group: ProcessGroup,
    child: &mut Child,
    pipes: &mut Pipes,
    output: &CapturedOutput,
) {
    let gone = async {
        let waited = async {
            let _ = ended(child).await;
            group.gone().await;
        };
        let mut waited = std::pin::pin!(waited);
        tokio::select! {
            biased;
            () = &mut waited => {}
            () = output.fill(pipes) => waited.await,
        }
    };
    group.end(context.grace, gone, |signal, error| context.refused(signal, error)).await;
    tokio::select! {
        () = output.fill(pipes) => {}
        () = TokioTime.sleep(LAST_READ) => {}
    }
}

/// Tokio's time. A timer that is asked for while no attempt is under way is a delay, or the pause
/// that some policies want before a refused call returns.
pub(crate) struct LoggingTimer {
    pub(crate) supervisor: Rc<Supervisor>,
    pub(crate) ledger: Arc<HostLedger>,
}

impl Clock for LoggingTimer {
    fn now(&self) -> Instant {
        TokioTime.now()
    }
}

impl Sleep for LoggingTimer {
    type Timer = <TokioTime as Sleep>::Timer;

    fn sleep(&self, span: Span) -> Self::Timer {
        if !self.supervisor.is_busy() && !self.ledger.has_refused() {
            let context = &self.supervisor.context;
            context.delay.set(span);
            context.reporter.waits(span);
        }
        TokioTime.sleep(span)
    }
}
