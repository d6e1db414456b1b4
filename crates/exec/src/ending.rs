//! The ends of a process group under signals and limits, of an attempt's command as well as of a check or a hook.

use std::future;
use std::io;
use std::process::ExitStatus;

use rustix::process::Signal;
use stagger::{Sleep, TokioTime};
use stagger_core::Span;
use tokio::process::Child;

use crate::context::CallContext;
use crate::process_group::{ProcessGroup, reap_all};

/// The signals that give a command its grace, and then its end. The others leave the end to it: an
/// editor goes on after Ctrl-C.
const DEADLY: [Signal; 2] = [Signal::TERM, Signal::HUP];

/// The command's end, and that of the orphans behind it.
pub(crate) async fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait().await;
    reap_all();
    status
}

/// Returns after a limit; never without one.
pub(crate) async fn limit(limit: Option<Span>) {
    match limit {
        Some(limit) => TokioTime.sleep(limit).await,
        None => future::pending().await,
    }
}

/// Ends what a failed attempt left running, so that the next one is alone. At once, while the
/// group's number cannot be anybody else's yet.
pub(crate) async fn end_remaining(context: &CallContext, group: ProcessGroup) {
    if !group.is_gone() {
        group
            .end(context.grace, group.gone(), |signal, error| context.refused(signal, error))
            .await;
    }
}

/// Kills a group that was told to end and has not by the end of its grace; its command then ends by itself.
pub(crate) async fn overdue<T>(context: &CallContext, group: ProcessGroup) -> T {
    context.end_asked().await;
    if is_told_to_end(context) {
        TokioTime.sleep(context.grace).await;
        context.send(group, Signal::KILL);
    }
    future::pending().await
}

/// Whether a signal asked for an end within the grace.
pub(crate) fn is_told_to_end(context: &CallContext) -> bool {
    let caught = context.caught.get().and_then(Signal::from_named_raw);
    caught.is_some_and(|signal| DEADLY.contains(&signal))
}

/// The command has ended as it was told to; the rest of its group has the same grace.
pub(crate) async fn end_rest(context: &CallContext, group: ProcessGroup) {
    tokio::select! {
        biased;
        () = group.gone() => {}
        () = TokioTime.sleep(context.grace) => context.send(group, Signal::KILL),
    }
}
