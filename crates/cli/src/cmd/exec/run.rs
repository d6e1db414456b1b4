//! The call: the engine, the attempts and the signals, side by side.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use rustix::process::Signal;
use stagger::retry::Stop;
use stagger::{CallReport, Error, Outcome, Retrier, Verdict};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::command::OWN_FAILURE;
use super::ended::{Ended, signal_code};
use super::exit::Exit;
use super::host_ledger::HostLedger;
use super::orphans;
use super::output::is_unheard;
use super::plan::Plan;
use super::scene::Scene;
use super::signals::{News, Signals};
use super::stage::Stage;
use super::terminal::Terminal;
use super::told_time::ToldTime;
use crate::flags::OutputMode;

/// The signal of a process that writes to a pipe without a reader.
const UNHEARD: i32 = Signal::PIPE.as_raw();

/// Runs the command under its policy, and returns how this process is to end.
///
/// # Errors
/// When the system refuses signal handlers.
pub(super) async fn run(plan: Plan) -> io::Result<Exit> {
    let mut signals = Signals::listen()?;
    orphans::adopt();
    let Plan { policy, attempt_timeout, grace, rules, budget, order, notes } = plan;
    let stage = Rc::new(Stage::new(Rc::new(Scene {
        order,
        notes,
        attempt_timeout,
        grace,
        rules,
        terminal: Terminal::open(),
        group: Cell::new(None),
        caught: Cell::new(None),
        expired: Cell::new(false),
        unheard: Cell::new(false),
        number: Cell::new(0),
        news: Notify::new(),
        last: RefCell::new(None),
        output: RefCell::new(None),
    })));
    let scene = &stage.scene;
    let ledger = Arc::new(HostLedger::new(&policy, budget));
    let time = ToldTime { stage: Rc::clone(&stage), ledger: Arc::clone(&ledger) };
    let retrier = Retrier::new(policy, time).with_ledger(ledger);
    let mut report = CallReport::default();
    let call = retrier
        .classify(|ended: &Ended| judge(scene, ended))
        .report(&mut report)
        .run_with(|info| stage.attempt(info));
    let end = heeding(&mut signals, &stage, call).await;
    if stage.is_busy() {
        // The deadline has passed, and the engine has turned away from the attempt.
        scene.expire();
        heeding(&mut signals, &stage, stage.settled()).await;
    }
    if let Some(why) = retrier.ledger().trouble() {
        scene.notes.trouble(&format!("the budget grants nothing: {why}"));
    }
    scene.notes.stops(stop(end));
    let released = release(&mut signals, scene).await;
    Ok(exit(scene, released))
}

/// Polls `work` and does what signals ask for; `None` when one came while no attempt was under way.
async fn heeding<T>(
    signals: &mut Signals,
    stage: &Stage,
    work: impl Future<Output = T>,
) -> Option<T> {
    let scene = &stage.scene;
    let mut work = pin!(work);
    loop {
        let news = tokio::select! {
            biased;
            news = signals.next() => news,
            done = &mut work => return Some(done),
        };
        match news {
            News::End(signal) => {
                scene.notes.interrupted(signal);
                scene.pass_on(signal);
                if !stage.is_busy() {
                    return None;
                }
            }
            other => heed(scene, other),
        }
    }
}

/// Does what job control asks for.
fn heed(scene: &Scene, news: News) {
    match news {
        News::Stop => scene.stop(),
        News::GoOn => scene.resume(false),
        News::Forward(signal) => scene.forward(signal),
        News::Child => scene.child_changed(),
        News::End(_) => {}
    }
}

/// Returns the outcome of an attempt, all things considered.
fn judge(scene: &Scene, ended: &Ended) -> Outcome {
    if scene.caught.get().is_some() {
        return Outcome::new(Verdict::Cancelled);
    }
    let outcome = scene.rules.outcome(ended);
    if !outcome.verdict.is_retryable() {
        return outcome;
    }
    if scene.group.get().is_some() {
        scene.notes.trouble("processes of this attempt are left, and another one would race them");
        return Outcome::new(Verdict::Permanent);
    }
    if scene.may_follow() && is_unheard() {
        scene.notes.remark("nobody reads standard output any more");
        scene.unheard.set(true);
        return Outcome::new(Verdict::Permanent);
    }
    outcome
}

fn stop(end: Option<Result<(), Error<Ended>>>) -> Stop {
    match end {
        Some(Ok(())) => Stop::Succeeded,
        Some(Err(error)) => error.stop(),
        None => Stop::Cancelled,
    }
}

/// Lets out what was kept of the last attempt. Standard output may be slow or stuck, so a thread
/// writes and signals are still heard.
async fn release(signals: &mut Signals, scene: &Scene) -> io::Result<()> {
    let Some(output) = scene.output.take() else { return Ok(()) };
    let succeeded = scene.last.borrow().as_ref().is_some_and(Ended::is_success);
    let whole = succeeded || scene.order.output == OutputMode::Last;
    let mut writing = spawn_blocking(move || output.release(whole));
    loop {
        tokio::select! {
            biased;
            news = signals.next() => match news {
                // The thread may hang for ever, and the runtime would wait for it.
                News::End(signal) => {
                    let _ = Exit::Signal(signal).finish();
                    std::process::exit(i32::from(signal_code(signal)));
                }
                other => heed(scene, other),
            },
            written = &mut writing => {
                return written.unwrap_or_else(|error| Err(io::Error::other(error)));
            }
        }
    }
}

fn exit(scene: &Scene, released: io::Result<()>) -> Exit {
    if let Some(signal) = scene.caught.get() {
        return Exit::Signal(signal);
    }
    if scene.unheard.get() {
        return Exit::Code(signal_code(UNHEARD));
    }
    let last = scene.last.borrow().clone();
    match released {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // A failure that is final anyway says more than its output that went nowhere.
            if last.as_ref().is_some_and(Ended::is_success) {
                return Exit::Code(signal_code(UNHEARD));
            }
        }
        Err(error) => {
            scene.notes.trouble(&format!("cannot write to standard output: {error}"));
            return Exit::Code(OWN_FAILURE);
        }
        Ok(()) => {}
    }
    if let Some(Ended::Signalled(signal)) = last
        && let Some(typed) = typed(scene, signal)
    {
        return Exit::JobSignal(typed);
    }
    Exit::Code(last.map_or(OWN_FAILURE, |ended| ended.code()))
}

/// The signal of a key that the command's user pressed. It went to the group that had the terminal
/// only: the rest of the job, such as the script around this process, still has to get it.
fn typed(scene: &Scene, signal: i32) -> Option<Signal> {
    let keys = [Signal::INT, Signal::QUIT];
    let typed = Signal::from_named_raw(signal).filter(|signal| keys.contains(signal));
    typed.filter(|_| scene.terminal.was_lent())
}
