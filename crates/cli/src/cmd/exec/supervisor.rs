//! One attempt at a time. It goes on when the engine drops its future, because a process does.

use std::cell::RefCell;
use std::future::{self, Future};
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::rc::Rc;
use std::task::Poll;

use rustix::process::Signal;
use stagger::{AttemptInfo, Clock, Sleep, TokioTime};
use stagger_core::Span;
use tokio::process::Child;

use super::ended::Ended;
use super::group::Group;
use super::orphans;
use super::output::{Output, Pipes};
use super::scene::Scene;

/// The time to read a stream that a process outside of the group holds open, after the group is gone.
const LAST_READ: Span = Span::from_millis(100);
/// The signals that give a command its grace, and then its end. The others leave the end to it: an
/// editor goes on after Ctrl-C.
const DEADLY: [Signal; 2] = [Signal::TERM, Signal::HUP];

/// The supervisor of the attempts.
pub(super) struct Stage {
    pub(super) scene: Rc<Scene>,
    under_way: RefCell<Option<Pin<Box<dyn Future<Output = Ended>>>>>,
}

impl Stage {
    pub(super) fn new(scene: Rc<Scene>) -> Self {
        Self { scene, under_way: RefCell::new(None) }
    }

    /// Begins an attempt, and returns with its end. Dropped, it leaves the attempt under way.
    pub(super) async fn attempt(&self, info: AttemptInfo) -> Result<(), Ended> {
        self.scene.notes.begins();
        self.scene.number.set(info.number);
        let attempt = attempt(Rc::clone(&self.scene), info);
        *self.under_way.borrow_mut() = Some(Box::pin(attempt));
        let ended = self.settled().await;
        if ended.is_success() { Ok(()) } else { Err(ended) }
    }

    /// The end of the attempt under way; never without one.
    pub(super) fn settled(&self) -> impl Future<Output = Ended> {
        future::poll_fn(|context| {
            let mut under_way = self.under_way.borrow_mut();
            let Some(attempt) = under_way.as_mut() else { return Poll::Pending };
            let polled = attempt.as_mut().poll(context);
            if let Poll::Ready(ended) = &polled {
                *under_way = None;
                *self.scene.last.borrow_mut() = Some(ended.clone());
            }
            polled
        })
    }

    /// Whether an attempt is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.under_way.borrow().is_some()
    }
}

async fn attempt(scene: Rc<Scene>, info: AttemptInfo) -> Ended {
    let since = TokioTime.now();
    let ended = made(&scene, info).await;
    scene.terminal.take_back();
    if matches!(ended, Ended::Signalled(_) | Ended::TimedOut) {
        scene.terminal.restore_modes();
    }
    scene.notes.ended(info.number, &ended, TokioTime.now() - since);
    ended
}

async fn made(scene: &Scene, info: AttemptInfo) -> Ended {
    if scene.caught.get().is_some() || scene.expired.get() {
        return Ended::Forestalled;
    }
    match scene.order.start(&info) {
        Ok(child) => watched(scene, child, info.number).await,
        Err(error) => Ended::not_started(&scene.order.program(), &error),
    }
}

/// A child from its start to its end.
async fn watched(scene: &Scene, mut child: Child, number: u32) -> Ended {
    // A child that was not waited for has an id.
    let Some(group) = Group::of(&child) else { return Ended::Signalled(0) };
    scene.group.set(Some(group));
    scene.terminal.offer(group);
    scene.notes.started(number, group.leader());
    let (mut pipes, output) = (Pipes::of(&mut child), Output::default());
    let ended = tokio::select! {
        biased;
        (status, ()) = async { tokio::join!(ended(&mut child), output.fill(&mut pipes)) } => {
            status.map_or_else(|error| Ended::Unkept(error.to_string()), Ended::of)
        }
        // What is not kept would come out in part, so there is no use in going on.
        () = output.overflow() => {
            cut_short(scene, group, &mut child, &mut pipes, &output).await;
            Ended::TimedOut
        }
        () = out_of_time(scene) => {
            cut_short(scene, group, &mut child, &mut pipes, &output).await;
            Ended::TimedOut
        }
        never = overdue(scene, group) => never,
    };
    if is_told_to_end(scene) {
        rest_of(scene, group).await;
    } else if ended != Ended::TimedOut && scene.rules.outcome(&ended).verdict.is_retryable() {
        leave_nothing(scene, group).await;
    }
    if group.is_gone() {
        scene.group.set(None);
    }
    let lost = output.lost();
    if scene.order.keeps_output() {
        // A part is worse than nothing: whoever reads it takes it for the whole.
        *scene.output.borrow_mut() = lost.is_none().then_some(output);
    }
    lost.map_or(ended, Ended::Unkept)
}

/// The command's end, and that of the orphans behind it.
async fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait().await;
    orphans::reap_all();
    status
}

async fn out_of_time(scene: &Scene) {
    let limit = async {
        match scene.attempt_timeout {
            Some(limit) => TokioTime.sleep(limit).await,
            None => future::pending().await,
        }
    };
    tokio::select! {
        () = limit => {}
        () = scene.expiry() => {}
    }
}

/// Ends the group of an attempt that ran out of its time.
async fn cut_short(
    scene: &Scene,
    group: Group,
    child: &mut Child,
    pipes: &mut Pipes,
    output: &Output,
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
    group.end(scene.grace, gone, |signal, error| scene.refused(signal, error)).await;
    tokio::select! {
        () = output.fill(pipes) => {}
        () = TokioTime.sleep(LAST_READ) => {}
    }
}

/// Ends what a failed attempt left running, so that the next one is alone. At once, while the
/// group's number cannot be anybody else's yet.
async fn leave_nothing(scene: &Scene, group: Group) {
    if !group.is_gone() {
        group.end(scene.grace, group.gone(), |signal, error| scene.refused(signal, error)).await;
    }
}

/// Kills a group that was told to end and has not by the end of its grace; the attempt then ends by
/// itself.
async fn overdue(scene: &Scene, group: Group) -> Ended {
    scene.end_asked().await;
    if is_told_to_end(scene) {
        TokioTime.sleep(scene.grace).await;
        scene.send(group, Signal::KILL);
    }
    future::pending().await
}

fn is_told_to_end(scene: &Scene) -> bool {
    let caught = scene.caught.get().and_then(Signal::from_named_raw);
    caught.is_some_and(|signal| DEADLY.contains(&signal))
}

/// The command has ended as it was told to; the rest of its group has the same grace.
async fn rest_of(scene: &Scene, group: Group) {
    tokio::select! {
        biased;
        () = group.gone() => {}
        () = TokioTime.sleep(scene.grace) => scene.send(group, Signal::KILL),
    }
}
