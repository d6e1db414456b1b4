//! One attempt at a time, which goes on when the engine drops its future, because a process does; and the time that
//! the engine waits by between attempts.

use std::cell::RefCell;
use std::future::{self, Future};
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use rustix::process::Signal;
use stagger::{AttemptInfo, Clock, Sleep, TokioTime};
use stagger_core::{Instant, Span};
use tokio::process::Child;

use crate::budget::HostLedger;
use crate::context::CallContext;
use crate::outcome::AttemptOutcome;
use crate::output::{CapturedOutput, Pipes};
use crate::process_group::{ProcessGroup, reap_all};

/// The time to read a stream that a process outside of the group holds open, after the group is gone.
const LAST_READ: Span = Span::from_millis(100);
/// The signals that give a command its grace, and then its end. The others leave the end to it: an
/// editor goes on after Ctrl-C.
const DEADLY: [Signal; 2] = [Signal::TERM, Signal::HUP];

/// The supervisor of the attempts.
pub(crate) struct Supervisor {
    pub(crate) context: Rc<CallContext>,
    under_way: RefCell<Option<Pin<Box<dyn Future<Output = AttemptOutcome>>>>>,
}

impl Supervisor {
    pub(crate) fn new(context: Rc<CallContext>) -> Self {
        Self { context, under_way: RefCell::new(None) }
    }

    /// Begins an attempt, and returns with its end. Dropped, it leaves the attempt under way.
    pub(crate) async fn attempt(&self, info: AttemptInfo) -> Result<(), AttemptOutcome> {
        self.context.reporter.begins();
        self.context.number.set(info.number);
        let attempt = attempt(Rc::clone(&self.context), info);
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
                *self.context.last.borrow_mut() = Some(ended.clone());
            }
            polled
        })
    }

    /// Whether an attempt is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.under_way.borrow().is_some()
    }
}

async fn attempt(context: Rc<CallContext>, info: AttemptInfo) -> AttemptOutcome {
    let since = TokioTime.now();
    let ended = run_attempt(&context, info).await;
    context.terminal.take_back();
    if matches!(ended, AttemptOutcome::Signalled(_) | AttemptOutcome::TimedOut) {
        context.terminal.restore_modes();
    }
    context.reporter.ended(info.number, &ended, TokioTime.now() - since);
    ended
}

async fn run_attempt(context: &CallContext, info: AttemptInfo) -> AttemptOutcome {
    if context.caught.get().is_some() || context.expired.get() {
        return AttemptOutcome::Cancelled;
    }
    match context.command.start(&info) {
        Ok(child) => watch(context, child, info.number).await,
        Err(error) => AttemptOutcome::not_started(&context.command.program(), &error),
    }
}

/// A child from its start to its end.
async fn watch(context: &CallContext, mut child: Child, number: u32) -> AttemptOutcome {
    // A child that was not waited for has an id.
    let Some(group) = ProcessGroup::of(&child) else { return AttemptOutcome::Signalled(0) };
    context.group.set(Some(group));
    context.terminal.offer(group);
    context.reporter.started(number, group.leader());
    let (mut pipes, output) = (Pipes::of(&mut child), CapturedOutput::default());
    let ended = tokio::select! {
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
    if is_told_to_end(context) {
        end_rest(context, group).await;
    } else if ended != AttemptOutcome::TimedOut
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

/// The command's end, and that of the orphans behind it.
async fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait().await;
    reap_all();
    status
}

async fn out_of_time(context: &CallContext) {
    let limit = async {
        match context.attempt_timeout {
            Some(limit) => TokioTime.sleep(limit).await,
            None => future::pending().await,
        }
    };
    tokio::select! {
        () = limit => {}
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

/// Ends what a failed attempt left running, so that the next one is alone. At once, while the
/// group's number cannot be anybody else's yet.
async fn end_remaining(context: &CallContext, group: ProcessGroup) {
    if !group.is_gone() {
        group
            .end(context.grace, group.gone(), |signal, error| context.refused(signal, error))
            .await;
    }
}

/// Kills a group that was told to end and has not by the end of its grace; the attempt then ends by
/// itself.
async fn overdue(context: &CallContext, group: ProcessGroup) -> AttemptOutcome {
    context.end_asked().await;
    if is_told_to_end(context) {
        TokioTime.sleep(context.grace).await;
        context.send(group, Signal::KILL);
    }
    future::pending().await
}

fn is_told_to_end(context: &CallContext) -> bool {
    let caught = context.caught.get().and_then(Signal::from_named_raw);
    caught.is_some_and(|signal| DEADLY.contains(&signal))
}

/// The command has ended as it was told to; the rest of its group has the same grace.
async fn end_rest(context: &CallContext, group: ProcessGroup) {
    tokio::select! {
        biased;
        () = group.gone() => {}
        () = TokioTime.sleep(context.grace) => context.send(group, Signal::KILL),
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
            self.supervisor.context.reporter.waits(span);
        }
        TokioTime.sleep(span)
    }
}
