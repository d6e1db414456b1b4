//! The breaker itself: its state, and the moves between the states.

use super::plan::BreakerPlan;
use super::report::Report;
use super::state::Closed;
use super::state::Open;
use super::state::Ramp;
use super::state::{BreakerState, StateKind, Transition};
use super::state::{Decision, HalfOpen};
use super::ticket::{Admission, Ticket};
use super::trip::Trip;
use super::window::Counts;
use crate::entropy::Entropy;
use crate::time::{Instant, Span};

/// Whether one destination may be called.
///
/// ```
/// use stagger_core::breaker::{Admission, Breaker, BreakerPlan, Report, StateKind};
/// use stagger_core::{Instant, Span};
///
/// let plan = BreakerPlan::builder().consecutive(3).build()?;
/// let (mut breaker, mut chance) = (Breaker::new(plan), || 0);
/// let mut now = Instant::ORIGIN;
/// for _ in 0..3 {
///     let ticket = breaker.admit(now).ticket().expect("closed");
///     breaker.report(now, ticket, Report::Failure, &mut chance);
/// }
/// let until = now + Span::from_secs(5);
/// assert_eq!(breaker.admit(now), Admission::Refused { until });
///
/// now = until;
/// let probe = breaker.admit(now).ticket().expect("the open time is over");
/// assert!(breaker.admit(now).ticket().is_none(), "one probe, not two");
/// breaker.report(now, probe, Report::Success, &mut chance);
/// assert_eq!(breaker.state(now), StateKind::Closed);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Breaker {
    plan: BreakerPlan,
    state: BreakerState,
    /// Counts the moves, so that results which started before one are known as stale.
    generation: u64,
    /// The next open time, before the spread.
    open_time: Span,
}

impl Breaker {
    /// Closed, with empty counters.
    #[must_use]
    pub fn new(plan: BreakerPlan) -> Self {
        let state = BreakerState::Closed(Closed::new(&plan));
        Self { plan, state, generation: 0, open_time: plan.open_time }
    }

    /// Open until `until`, as one that was saved: for whoever remembers a breaker longer than a
    /// process lives.
    ///
    /// `open_time` is what [`open_time`](Self::open_time) said then, moved into the plan's bounds, so
    /// that a probe that fails lengthens it further.
    ///
    /// ```
    /// use stagger_core::breaker::{Breaker, BreakerPlan, Report, StateKind};
    /// use stagger_core::{Instant, Span};
    /// let until = Instant::from_nanos(9);
    /// let mut breaker = Breaker::reopened(BreakerPlan::default(), until, Span::from_secs(20));
    /// assert_eq!(breaker.state(Instant::ORIGIN), StateKind::Open);
    /// let probe = breaker.admit(until).ticket().expect("the open time is over");
    /// breaker.report(until, probe, Report::Failure, &mut || 0);
    /// assert_eq!(breaker.open_until(until), Some(until + Span::from_secs(40)));
    /// ```
    #[must_use]
    pub fn reopened(plan: BreakerPlan, until: Instant, open_time: Span) -> Self {
        let open_time = open_time.clamp(plan.open_time, plan.open_cap);
        Self {
            plan,
            state: BreakerState::Open(Open::until_instant(until)),
            generation: 0,
            open_time,
        }
    }

    /// Whether a call may be made at `now`.
    #[inline]
    pub fn admit(&mut self, now: Instant) -> Admission {
        self.wake(now);
        let place = match &mut self.state {
            BreakerState::Closed(closed) => {
                closed.admit();
                Ok(None)
            }
            BreakerState::Open(open) => Err(open.until()),
            BreakerState::HalfOpen(half_open) => half_open.admit(now).map(Some),
            BreakerState::Ramp(ramp) => ramp.admit(now).map(|()| None),
        };
        match place {
            Ok(probe) => {
                Admission::Admitted(Ticket { generation: self.generation, admitted_at: now, probe })
            }
            Err(until) => Admission::Refused { until },
        }
    }

    /// Takes the result of an admitted call; the answer is the move it caused, if any.
    ///
    /// Takes one word of `entropy` when the breaker opens, else none.
    #[inline]
    pub fn report<E: Entropy>(
        &mut self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut E,
    ) -> Option<Transition> {
        self.wake(now);
        if ticket.generation != self.generation {
            return None;
        }
        let call = self.plan.judge(report, now - ticket.admitted_at);
        match &mut self.state {
            BreakerState::Closed(closed) => {
                let trip = closed.settle(&self.plan, now, call)?;
                Some(self.open(now, trip, entropy))
            }
            BreakerState::Ramp(ramp) => {
                let trip = ramp.closed.settle(&self.plan, now, call)?;
                self.grow();
                Some(self.open(now, trip, entropy))
            }
            BreakerState::HalfOpen(half_open) => match half_open.settle(now, ticket.probe, call)? {
                Decision::AllGood => Some(self.close(now)),
                Decision::OneBad => {
                    self.grow();
                    Some(self.open(now, Trip::Probe, entropy))
                }
            },
            BreakerState::Open(_) => None,
        }
    }

    /// Opens for a rule that somebody else saw broken, who counted the calls of this `generation`;
    /// nothing unless the breaker is closed, or ramping, and still in it.
    ///
    /// Takes one word of `entropy` when the breaker opens, else none.
    pub fn trip<E: Entropy>(
        &mut self,
        now: Instant,
        generation: u64,
        trip: Trip,
        entropy: &mut E,
    ) -> Option<Transition> {
        self.wake(now);
        if generation != self.generation {
            return None;
        }
        match &self.state {
            BreakerState::Closed(_) => Some(self.open(now, trip, entropy)),
            BreakerState::Ramp(_) => {
                self.grow();
                Some(self.open(now, trip, entropy))
            }
            BreakerState::Open(_) | BreakerState::HalfOpen(_) => None,
        }
    }

    /// Opens until `until`, whatever its state, with the next open time of [`reopened`](Self::reopened):
    /// for a breaker that follows another one, such as a fleet's. Results from before are stale.
    pub fn reopen(&mut self, until: Instant, open_time: Span) {
        self.open_time = open_time.clamp(self.plan.open_time, self.plan.open_cap);
        self.move_to(BreakerState::Open(Open::until_instant(until)));
    }

    /// Closes as if all probes had succeeded; nothing when it is closed, or ramping.
    ///
    /// ```
    /// use stagger_core::breaker::{Breaker, BreakerPlan, StateKind};
    /// use stagger_core::{Instant, Span};
    /// let mut breaker = Breaker::new(BreakerPlan::default());
    /// breaker.reopen(Instant::from_nanos(9), Span::from_secs(20));
    /// assert_eq!(breaker.state(Instant::ORIGIN), StateKind::Open);
    /// breaker.reclose(Instant::ORIGIN);
    /// assert_eq!(breaker.state(Instant::ORIGIN), StateKind::Closed);
    /// ```
    pub fn reclose(&mut self, now: Instant) -> Option<Transition> {
        self.wake(now);
        self.closed().is_none().then(|| self.close(now))
    }

    /// Makes the moves that time alone causes, open to half-open and ramp to closed, before anybody
    /// asks.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        match &self.state {
            BreakerState::Closed(_) | BreakerState::HalfOpen(_) => {}
            BreakerState::Open(open) if open.is_over(now) => self.half_open(),
            BreakerState::Ramp(ramp) if ramp.is_over(now) => self.end_ramp(),
            BreakerState::Open(_) | BreakerState::Ramp(_) => {}
        }
    }

    /// The number of transitions. A result from before a transition is stale after it.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the state of the breaker at `now`.
    #[must_use]
    pub fn state(&self, now: Instant) -> StateKind {
        match &self.state {
            BreakerState::Closed(_) => StateKind::Closed,
            BreakerState::Open(open) if !open.is_over(now) => StateKind::Open,
            BreakerState::Open(_) | BreakerState::HalfOpen(_) => StateKind::HalfOpen,
            BreakerState::Ramp(ramp) if !ramp.is_over(now) => StateKind::Ramp,
            BreakerState::Ramp(_) => StateKind::Closed,
        }
    }

    /// The instant from which a probe may go, while the breaker is open.
    #[must_use]
    pub fn open_until(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            BreakerState::Open(open) if !open.is_over(now) => Some(open.until()),
            _ => None,
        }
    }

    /// The current or next open time, before the upward spread.
    #[must_use]
    pub const fn open_time(&self) -> Span {
        self.open_time
    }

    /// The calls in the window at `now`: all zero unless closed or ramping.
    #[must_use]
    pub fn counts(&self, now: Instant) -> Counts {
        self.closed().map(|closed| closed.counts(now)).unwrap_or_default()
    }

    /// Failures since the last success: zero unless closed or ramping.
    #[must_use]
    pub fn consecutive_failures(&self) -> u32 {
        self.closed().map_or(0, Closed::consecutive)
    }

    /// The end of the ramp, while the breaker is ramping.
    #[must_use]
    pub fn ramp_until(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            BreakerState::Ramp(ramp) if !ramp.is_over(now) => Some(ramp.ends()),
            _ => None,
        }
    }

    /// The plan it follows.
    #[must_use]
    pub const fn plan(&self) -> &BreakerPlan {
        &self.plan
    }

    fn closed(&self) -> Option<&Closed> {
        match &self.state {
            BreakerState::Closed(closed) => Some(closed),
            BreakerState::Ramp(ramp) => Some(&ramp.closed),
            BreakerState::Open(_) | BreakerState::HalfOpen(_) => None,
        }
    }

    #[cold]
    fn half_open(&mut self) {
        let lease = self.plan.lease.unwrap_or(self.open_time);
        self.move_to(BreakerState::HalfOpen(HalfOpen::new(self.plan.probes, lease)));
    }

    /// Calls admitted during the ramp still count: counters and generation go on.
    #[cold]
    fn end_ramp(&mut self) {
        if let BreakerState::Ramp(ramp) = &self.state {
            self.state = BreakerState::Closed(ramp.closed.clone());
            self.open_time = self.plan.open_time;
        }
    }

    #[cold]
    fn open<E: Entropy>(&mut self, now: Instant, trip: Trip, entropy: &mut E) -> Transition {
        let open = Open::new(now, self.open_time, entropy);
        self.move_to(BreakerState::Open(open));
        Transition::Opened { trip, until: open.until() }
    }

    /// The open time starts over once the destination has proved stable: at once without a ramp,
    /// and at its end with one.
    #[cold]
    fn close(&mut self, now: Instant) -> Transition {
        let closed = Closed::new(&self.plan);
        let Some(plan) = self.plan.ramp else {
            self.open_time = self.plan.open_time;
            self.move_to(BreakerState::Closed(closed));
            return Transition::Closed { ramp_ends: None };
        };
        let ramp = Ramp::new(closed, plan, now);
        let ramp_ends = Some(ramp.ends());
        self.move_to(BreakerState::Ramp(ramp));
        Transition::Closed { ramp_ends }
    }

    fn grow(&mut self) {
        self.open_time = self.plan.open_factor.of_span(self.open_time).min(self.plan.open_cap);
    }

    fn move_to(&mut self, state: BreakerState) {
        self.state = state;
        self.generation = self.generation.wrapping_add(1);
    }
}
