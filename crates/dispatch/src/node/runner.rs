//! The task of the scheduler, and its inbox.

use std::sync::Arc;

use stagger::{Instant, OsEntropy, Span, Verdict};
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure};
use stagger_scheduler::{Launch, NextLaunch};
use stagger_store::Settlement;
use tokio::sync::mpsc;

use super::attempt::{AttemptGuard, AttemptRunner};
use super::operational::OperationalEvents;
use super::scheduler_state::{AttemptResult, Command, Inbox, SchedulerState};
use super::settle_queue::MOST_UNSETTLED;
use super::shared_budgets::SharedCharges;
use super::starting::StartingAttempts;
use super::status::AttemptCounter;
use crate::observe;
use crate::observe::Instruments;

/// Commands taken and launches made in a row, so that neither keeps the other waiting.
const BATCH: usize = 256;

/// The least time between two log lines about attempts that could not be made.
const LOG_INTERVAL: Span = Span::from_secs(10);

/// Owns the scheduler, and launches its attempts.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) state: SchedulerState,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    /// Attempts report their results to it.
    pub(super) inbox: Inbox,
    pub(super) attempt_runner: Arc<AttemptRunner>,
    pub(super) rates: Arc<AttemptCounter>,
    pub(super) instruments: Arc<Instruments>,
    pub(super) operational_events: OperationalEvents,
    pub(super) shared_charges: SharedCharges,
    pub(super) under_way: usize,
    pub(super) starting: StartingAttempts,
    /// The time of the last log line about an attempt that could not be made.
    pub(super) logged_at: Option<Instant>,
}

impl Runner {
    /// Runs until it is told to end. Sleeps while no attempt is due and no command comes.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let clock = self.state.clock;
        while !self.is_over() {
            let wake = self.launch().into_iter().chain(self.state.next_event()).min();
            tokio::select! {
                biased;
                taken = self.commands.recv_many(&mut batch, BATCH) => if taken == 0 { break },
                () = clock.until(wake) => {}
            }
            for command in batch.drain(..) {
                self.obey(command);
            }
            self.state.report_due_events();
            while self.state.attempts.try_join_next().is_some() {}
            self.state.health.set_open(self.state.scheduler.len());
            for (application, open) in self.state.scheduler.take_changed() {
                self.state.health.set_open_of(application, open);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.state.is_ending() && self.under_way == 0
    }

    /// Launches attempts that are due; returns the time of the next check.
    fn launch(&mut self) -> Option<Instant> {
        let now = self.state.clock.now();
        let over = self.state.aborts_at();
        if over.is_some_and(|over| over <= now) {
            // Each one that is cut off says so, as one that was not made.
            self.state.attempts.abort_all();
            return None;
        }
        let wake = if self.state.is_ending() { None } else { self.launch_due(now) };
        wake.into_iter().chain(over).min()
    }

    fn launch_due(&mut self, now: Instant) -> Option<Instant> {
        for _ in 0..BATCH {
            if self.state.health.unsettled() >= MOST_UNSETTLED || self.starting.is_full() {
                return None;
            }
            match self.state.scheduler.next(now, &mut OsEntropy) {
                NextLaunch::Send(launch) => match self.shared_charges.ask(&launch) {
                    Ok(()) => self.send(launch),
                    Err(wait) => {
                        let scheduler = &mut self.state.scheduler;
                        scheduler.put_off(now, launch, now + wait, &mut OsEntropy);
                    }
                },
                NextLaunch::Until(at) => return Some(at),
                NextLaunch::Idle => return None,
            }
        }
        Some(now)
    }

    fn send(&mut self, launch: Launch) {
        self.under_way += 1;
        self.rates.record(launch.endpoint, launch.number, launch.at);
        let (lease, clock) = (self.state.lease(), self.state.clock);
        let guard = AttemptGuard::new(launch, self.inbox.clone(), move || lease.holds(clock));
        let runner = Arc::clone(&self.attempt_runner);
        let starting = self.starting.begin();
        self.state.attempts.spawn(async move {
            drop(starting);
            runner.run(guard).await;
        });
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Add(deliveries) => self.state.add(&deliveries),
            Command::AttemptDone(launch, result) => self.take_back(launch, result),
            Command::Do(work) => work(&mut self.state),
            Command::Resume => {}
        }
    }

    fn take_back(&mut self, launch: Launch, result: AttemptResult) {
        self.under_way = self.under_way.saturating_sub(1);
        match result {
            AttemptResult::Answer(answer, own) => self.settle(launch, answer, own),
            AttemptResult::Gone => self.release(launch),
        }
    }

    pub(super) fn settle(&mut self, launch: Launch, answer: AttemptAnswer, own: bool) {
        let (now, written) = (self.state.clock.now(), answer.written);
        if answer.result == Err(AttemptFailure::Local) {
            self.report_not_made(now, answer.detail.as_deref());
        }
        if matches!(answer.result, Err(AttemptFailure::Token | AttemptFailure::Handshake)) {
            if answer.result == Err(AttemptFailure::Token) {
                self.instruments.token_failed();
            }
            let (endpoint, detail) = (launch.endpoint, answer.detail.as_deref());
            tracing::info!(%endpoint, detail, "attempt not sent, endpoint held back");
        }
        let settled = self.state.scheduler.settle(now, launch, answer, &mut OsEntropy);
        let attempt = settled.as_ref().and_then(|it| it.change.attempt.as_ref());
        let verdict = attempt.map(|attempt| attempt.verdict);
        self.shared_charges.settle(&launch, (verdict, written));
        if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Cancelled) {
            self.rates.record_result(launch.endpoint, verdict != Verdict::Ok, now);
        }
        let Some(settled) = settled else { return };
        let mut settlement = Settlement::from(settled.change);
        observe::settled(&self.instruments, &settlement);
        self.state.note_change(&mut settlement);
        self.state.note_dead(&mut settlement);
        // Events about the dispatcher's own messages would go round in circles.
        if let Some(event) = settled.event.filter(|_| !own) {
            let message = self.operational_events.message(event, &settlement, now);
            settlement.operational.extend(message);
        }
        self.state.keep(settlement);
    }

    /// The node lacked resources: its operator has to know, and its receivers must not.
    fn report_not_made(&mut self, now: Instant, detail: Option<&str>) {
        self.instruments.not_made();
        if self.logged_at.is_none_or(|last| now - last >= LOG_INTERVAL) {
            self.logged_at = Some(now);
            tracing::warn!(detail, "attempt not made, this node lacks resources");
        }
    }

    /// Nothing is left to send: the delivery ends, and its slot is free again.
    fn release(&mut self, launch: Launch) {
        let now = self.state.clock.now();
        let scheduler = &mut self.state.scheduler;
        let delivery = scheduler.cancel(now, launch.message, launch.endpoint);
        scheduler.settle(now, launch, AttemptAnswer::not_made(), &mut OsEntropy);
        self.shared_charges.settle(&launch, (None, false));
        if delivery.is_some() {
            self.state.keep(Settlement { delivery, ..Settlement::default() });
        }
    }
}
