//! The gauge of a run under way: its clock, its figures, and the bound of its rate.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger::{Clock, TokioTime};
use stagger_core::{Instant, Span};
use stagger_sim::{ObservedRun, Played, RunPlan};

/// The figures of a run over sockets.
#[derive(Clone, Debug)]
pub struct LoadMeasurement {
    /// The figures, by the probes of the lab. Levels of queues and wasted work cannot be seen from outside.
    pub played: Played,
    /// The answers to its attempts.
    pub answers: AnswerCounts,
    /// The longest time by which a call began late: a sign that this machine is too busy.
    pub latest_start: Span,
    /// Calls that were not over at its end.
    pub unfinished: u64,
    /// The end of the run.
    pub end: RunEnd,
}

/// The answers of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    /// Answers by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Exchanges that failed: refused connections, cut answers, answers that are no HTTP.
    pub errors: u64,
    /// Attempts that their callers gave up, or that were under way at the end.
    pub unanswered: u64,
}

impl AnswerCounts {
    /// Redirects among the answers. They are counted and not followed.
    #[must_use]
    pub fn redirects(&self) -> u64 {
        let redirects = [301, 302, 303, 307, 308].into_iter();
        redirects.filter_map(|status| self.statuses.get(&status)).sum()
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All calls are over.
    Complete,
    /// The user asked for an end.
    Interrupted,
    /// The next attempt would have exceeded the rate.
    RateBound,
    /// The next attempt would have needed one connection too many.
    ConnectionBound,
    /// The time was over.
    TimeBound,
}

impl RunEnd {
    /// The end as one word for programs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::RateBound => "rate-bound",
            Self::ConnectionBound => "connection-bound",
            Self::TimeBound => "time-bound",
        }
    }

    /// The end as a sentence for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Complete => "all calls are over",
            Self::Interrupted => "interrupted",
            Self::RateBound => "ended at the bound of the rate",
            Self::ConnectionBound => "ended at the bound of the connections",
            Self::TimeBound => "ended at the bound of the time",
        }
    }
}

/// The gauge of one run; every task of the run shares it.
#[derive(Debug)]
pub(crate) struct Gauge {
    origin: Instant,
    rate: usize,
    readings: Mutex<Readings>,
}

#[derive(Debug)]
struct Readings {
    run: ObservedRun,
    now: Instant,
    /// Attempts of the last second.
    second: VecDeque<Instant>,
    answers: AnswerCounts,
    sent: u64,
    latest_start: Span,
    open_calls: u64,
    stopped: Option<RunEnd>,
}

const SECOND: Span = Span::from_secs(1);

impl Gauge {
    /// A gauge whose run begins after `lead`, with at most `rate` attempts in any second.
    pub(crate) fn new(plan: &RunPlan, lead: Span, rate: u32) -> Self {
        let readings = Readings {
            run: ObservedRun::new(plan),
            now: Instant::ORIGIN,
            second: VecDeque::new(),
            answers: AnswerCounts::default(),
            sent: 0,
            latest_start: Span::ZERO,
            open_calls: 0,
            stopped: None,
        };
        Self {
            origin: TokioTime.now() + lead,
            rate: usize::try_from(rate).unwrap_or(usize::MAX),
            readings: Mutex::new(readings),
        }
    }

    /// The time of the run; its origin until it has begun.
    pub(crate) fn now(&self) -> Instant {
        Instant::ORIGIN + (TokioTime.now() - self.origin)
    }

    /// The time until this instant of the run.
    pub(crate) fn until(&self, at: Instant) -> Span {
        (self.origin + (at - Instant::ORIGIN)) - TokioTime.now()
    }

    /// A call that was due at `due` begins.
    pub(crate) fn begin_call(&self, due: Instant, bystander: bool) -> Instant {
        let mut readings = self.readings();
        let now = self.advance(&mut readings);
        readings.latest_start = readings.latest_start.max(now - due);
        if !bystander {
            readings.open_calls += 1;
            readings.run.arrived(now);
        }
        now
    }

    /// An attempt is about to be sent: its instant, or `None` when it must not be.
    pub(crate) fn begin_attempt(&self, number: u32, bystander: bool) -> Option<Instant> {
        let mut readings = self.readings();
        let now = self.advance(&mut readings);
        while readings.second.front().is_some_and(|&first| now >= first + SECOND) {
            readings.second.pop_front();
        }
        if readings.second.len() >= self.rate {
            readings.stopped.get_or_insert(RunEnd::RateBound);
        }
        if readings.stopped.is_some() {
            return None;
        }
        readings.second.push_back(now);
        readings.sent += 1;
        match bystander {
            false => readings.run.attempted(now, number),
            true => readings.run.attempted_beside(now, number),
        }
        Some(now)
    }

    /// An attempt was answered with this status, or its exchange failed.
    pub(crate) fn answered(&self, status: Option<u16>) {
        let answers = &mut self.readings().answers;
        match status {
            Some(status) => *answers.statuses.entry(status).or_default() += 1,
            None => answers.errors += 1,
        }
    }

    /// A call that began at `began` is over; `served` is the number of the attempt that succeeded.
    pub(crate) fn end_call(&self, began: Instant, served: Option<u32>, elapsed: Span) -> Instant {
        let mut readings = self.readings();
        let now = self.advance(&mut readings);
        if let Some(number) = served {
            readings.run.served(now, number, began);
        }
        readings.run.over(now, served.is_some(), elapsed);
        readings.open_calls -= 1;
        now
    }

    /// Ends the run, unless it has ended already.
    pub(crate) fn stop(&self, end: RunEnd) {
        self.readings().stopped.get_or_insert(end);
    }

    /// The reason for which the run must end before its calls are over.
    pub(crate) fn stopped(&self) -> Option<RunEnd> {
        self.readings().stopped
    }

    /// The figures so far.
    pub(crate) fn measurement(&self) -> LoadMeasurement {
        let readings = self.readings();
        let mut answers = readings.answers.clone();
        let answered: u64 = answers.statuses.values().sum();
        answers.unanswered = readings.sent.saturating_sub(answered + answers.errors);
        LoadMeasurement {
            played: readings.run.clone().finish(),
            answers,
            latest_start: readings.latest_start,
            unfinished: readings.open_calls,
            end: readings.stopped.unwrap_or(RunEnd::Complete),
        }
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the run, which never goes back from one reading to the next.
    fn advance(&self, readings: &mut Readings) -> Instant {
        readings.now = readings.now.max(self.now());
        readings.now
    }
}
