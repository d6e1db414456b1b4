//! The state that the attempts of one call share, and signals for the one under way.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use stagger_core::Span;
use tokio::sync::Notify;

use crate::command::AttemptCommand;
use crate::cool_off::CoolOffFile;
use crate::outcome::AttemptOutcome;
use crate::output::CapturedOutput;
use crate::output_rules::OutputRules;
use crate::process_group::{ProcessGroup, reap_all, reap_except};
use crate::reporter::Reporter;
use crate::retry_rules::RetryRules;
use crate::self_stop::SelfStop;
use crate::terminal::Terminal;

/// The command, its process group, the terminal and the rules of one call.
#[derive(Debug)]
pub(crate) struct CallContext {
    pub(crate) command: AttemptCommand,
    pub(crate) reporter: Reporter,
    pub(crate) attempt_timeout: Option<Span>,
    pub(crate) grace: Span,
    pub(crate) terminal: Terminal,
    pub(crate) rules: RetryRules,
    pub(crate) output_rules: Arc<OutputRules>,
    pub(crate) cool_off: Option<CoolOffFile>,
    /// The group of the attempt under way, or what the one before left running.
    pub(crate) group: Cell<Option<ProcessGroup>>,
    /// The first signal that asked for an end.
    pub(crate) caught: Cell<Option<i32>>,
    /// Whether the deadline has passed while an attempt was under way.
    pub(crate) expired: Cell<bool>,
    /// Whether a further attempt was left out because the reader of standard output has gone.
    pub(crate) reader_gone: Cell<bool>,
    /// The number of the last attempt, from 1.
    pub(crate) number: Cell<u32>,
    /// Whether a check or a hook is under way.
    pub(crate) beside: Cell<bool>,
    /// The delay before the attempt.
    pub(crate) delay: Cell<Span>,
    /// The hint in the output of the attempt.
    pub(crate) hint: Cell<Option<Span>>,
    /// Told when `caught` or `expired` change.
    pub(crate) changed: Notify,
    /// The end of the attempt before.
    pub(crate) last: RefCell<Option<AttemptOutcome>>,
    /// The output of the last attempt, if it is kept.
    pub(crate) output: RefCell<Option<CapturedOutput>>,
}

impl CallContext {
    pub(crate) fn new(
        (command, reporter): (AttemptCommand, Reporter),
        (rules, output_rules): (RetryRules, OutputRules),
        attempt_timeout: Option<Span>,
        grace: Span,
        cool_off: Option<CoolOffFile>,
    ) -> Self {
        Self {
            command,
            reporter,
            attempt_timeout,
            grace,
            terminal: Terminal::open(),
            rules,
            output_rules: Arc::new(output_rules),
            cool_off,
            group: Cell::new(None),
            caught: Cell::new(None),
            expired: Cell::new(false),
            reader_gone: Cell::new(false),
            number: Cell::new(0),
            beside: Cell::new(false),
            delay: Cell::new(Span::ZERO),
            hint: Cell::new(None),
            changed: Notify::new(),
            last: RefCell::new(None),
            output: RefCell::new(None),
        }
    }

    /// An attempt begins.
    pub(crate) fn begin(&self, number: u32) {
        self.reporter.begins();
        self.number.set(number);
        self.hint.set(None);
    }

    /// Keeps the end of an attempt, and the hint in it also for other processes. An attempt that was not begun says
    /// less than the one before.
    pub(crate) fn keep(&self, ended: &AttemptOutcome) {
        let mut last = self.last.borrow_mut();
        if *ended != AttemptOutcome::Cancelled || last.is_none() {
            *last = Some(ended.clone());
        }
        let hint = self.hint.get().max(self.rules.hint(ended)).filter(|_| !ended.is_success());
        self.hint.set(hint);
        self.delay.set(Span::ZERO);
        if let (Some(hint), Some(file)) = (hint, &self.cool_off) {
            file.keep(hint);
        }
    }

    /// The time for which the destination is to be left alone: the attempt's own hint, or that of another process.
    pub(crate) fn destination_hint(&self) -> Option<Span> {
        let kept = self.cool_off.as_ref().map(CoolOffFile::left).filter(|left| *left > Span::ZERO);
        self.hint.get().max(kept)
    }

    /// Passes a signal to end on to the group; no attempt follows.
    pub(crate) fn pass_on(&self, signal: i32) {
        if let (Some(group), Some(signal)) = (self.group.get(), Signal::from_named_raw(signal)) {
            self.send(group, signal);
            let _ = group.send(Signal::CONT);
        }
        if self.caught.get().is_none() {
            self.caught.set(Some(signal));
        }
        self.changed.notify_waiters();
    }

    /// A key ended a check or a hook that had the terminal: the rest of the job, this process among it, gets the signal
    /// too.
    pub(crate) fn typed(&self, signal: Signal) {
        if self.caught.get().is_none() {
            self.caught.set(Some(signal.as_raw()));
        }
        let _ = kill_current_process_group(signal);
        self.changed.notify_waiters();
    }

    /// Whether the limits allow another attempt.
    pub(crate) fn may_follow(&self) -> bool {
        self.command.most.is_none_or(|most| self.number.get() < most)
    }

    /// The deadline has passed.
    pub(crate) fn expire(&self) {
        self.expired.set(true);
        self.changed.notify_waiters();
    }

    /// Returns when the deadline has passed.
    pub(crate) async fn expiry(&self) {
        self.until(|| self.expired.get()).await;
    }

    /// Returns when a signal has asked for an end.
    pub(crate) async fn end_asked(&self) {
        self.until(|| self.caught.get().is_some()).await;
    }

    /// Hands a signal on that asks this process for nothing: the command may have a meaning for it.
    pub(crate) fn forward(&self, signal: Signal) {
        if let Some(group) = self.group.get() {
            self.send(group, signal);
        }
    }

    /// This process is told to stop: the command stops first. Returns when this process goes on.
    pub(crate) fn stop(&self, own: &SelfStop) {
        if let Some(group) = self.group.get() {
            self.send(group, Signal::TSTP);
        }
        self.terminal.take_back();
        let _ = own.stop();
        self.resume(false);
    }

    /// A child has changed: orphans that have ended are waited for; if the terminal's user stopped the
    /// command, the whole job stops; if it waits for the terminal, it gets it.
    pub(crate) fn child_changed(&self) {
        let Some(group) = self.group.get() else { return reap_all() };
        reap_except(group.leader());
        let Some(signal) = group.stopped_by().and_then(Signal::from_named_raw) else { return };
        let asks = signal == Signal::TTIN || signal == Signal::TTOU;
        // It may have asked before it was lent the terminal at its start.
        if asks && self.terminal.lend(group) {
            group.go_on();
        } else if asks || signal == Signal::TSTP {
            // Without a shell that could continue the job, the kernel stops no process of it.
            let goes_on = signal == Signal::TSTP;
            self.terminal.take_back();
            let _ = kill_current_process_group(Signal::TTIN);
            if goes_on || self.terminal.is_here() {
                self.resume(asks);
            }
        }
    }

    /// This process goes on, and so does the command.
    pub(crate) fn resume(&self, asks: bool) {
        let Some(group) = self.group.get() else { return };
        if asks {
            self.terminal.lend(group);
        } else {
            self.terminal.offer(group);
        }
        let _ = group.send(Signal::CONT);
    }

    /// Sends a signal, and reports a refusal: processes of another user are no reason to fail.
    pub(crate) fn send(&self, group: ProcessGroup, signal: Signal) {
        if let Err(error) = group.send(signal) {
            self.refused(signal, error);
        }
    }

    pub(crate) fn refused(&self, signal: Signal, error: Errno) {
        self.reporter.unsent(signal.as_raw(), error);
    }

    async fn until(&self, is_so: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so() {
                return;
            }
            changed.await;
        }
    }
}
