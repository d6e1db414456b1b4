//! The state of a call in the engine, and its events. It knows the destination without its types: so the code of all that
//! follows a first attempt is compiled with this crate, and not with each crate that makes calls.

use stagger_core::retry::{
    Action, Call, Detached, FirstAttempt, FirstRefused, Launched, Ledger, LimitPermit, Session,
    Wait,
};
use stagger_core::{Instant, Outcome, Span};

use super::chance::Chance;
use super::history::Mark;
use super::retrier_plan::RetrierPlan;
use super::{AttemptInfo, NextStep};
use crate::observe;

/// The state of a call. It borrows nothing, so that a future with a name can hold it.
pub(super) enum CallState {
    /// Nothing is taken yet. Of the time, only a call that blocks its thread has asked.
    Unstarted {
        idempotent: bool,
        started: Option<Instant>,
    },
    /// The first attempt is under way. Nearly every call ends with it, and every call under way is a
    /// future that holds this: so until it has settled, a call keeps no session.
    First {
        attempt: FirstAttempt,
        since: Since,
        single: bool,
    },
    /// Anything that comes later.
    Running(Box<RunningCall>),
    Ended,
}

/// The known start of the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// A moment ago, by a clock that may lag a little; the attempt has not been seen to take time.
    Recent,
    /// A moment ago, to the nanosecond; the attempt has not been seen to take time.
    Now,
    /// Some time ago: the attempt takes time.
    Before,
}

/// A call whose session has started.
pub(super) struct RunningCall {
    session: Detached,
    /// Whether it is under the retrier's policy of one attempt.
    single: bool,
    /// The attempt under way; hedged calls keep their own list.
    launched: Option<Launched>,
    /// The time of the last event.
    now: Instant,
}

/// The retrier and the ledger of a call, without their types.
pub(super) struct DestinationView<'a> {
    pub(super) plan: &'a RetrierPlan,
    pub(super) chance: &'a Chance,
    pub(super) name: Option<&'static str>,
    pub(super) ledger: &'a mut dyn Ledger,
}

impl CallState {
    /// Starts the session of a call that may have copies.
    #[cold]
    pub(super) fn start(
        &mut self,
        view: DestinationView<'_>,
        (call, single): (Call, bool),
        now: Instant,
    ) -> Action<()> {
        let policy = view.plan.policy_for(single);
        let (session, action) = Session::start(policy, view.ledger, call, now);
        self.run(session.detach(), single, None);
        self.after(view.name, (session, now), action)
    }

    /// Starts the session of a call whose first attempt may not start now.
    #[cold]
    pub(super) fn put_off(
        &mut self,
        view: DestinationView<'_>,
        refused: FirstRefused,
        (call, single): (Call, bool),
        now: Instant,
    ) -> Action<()> {
        let policy = view.plan.policy_for(single);
        let (session, action) = refused.session(policy, view.ledger, call, now);
        self.run(session.detach(), single, None);
        self.after(view.name, (session, now), action)
    }

    /// Takes the attempt under way from the state.
    #[cold]
    pub(super) fn take_launched(&mut self, view: &DestinationView<'_>) -> Option<Launched> {
        self.running(view.plan).launched.take()
    }

    /// An attempt settled.
    #[cold]
    pub(super) fn settle(
        &mut self,
        view: DestinationView<'_>,
        now: Instant,
        launched: Launched,
        outcome: &Outcome,
    ) -> (Action<()>, Mark) {
        let DestinationView { plan, chance, name, ledger } = view;
        let mut session = self.session(plan);
        let number = launched.attempt.number;
        let mark = Mark { attempt: number, at: now - session.retry().started() };
        let action = session.on_outcome(ledger, now, launched, outcome, &mut chance.draw(number));
        match action {
            Action::Wait(Wait::Until(at)) => observe::retried(name, number, at - now, outcome),
            Action::Attempt(_) => observe::retried(name, number, Span::ZERO, outcome),
            _ => {}
        }
        (self.after(name, (session, now), action), mark)
    }

    /// A wait is over, or a further copy is due.
    #[cold]
    pub(super) fn wake(&mut self, view: DestinationView<'_>, now: Instant) -> Action<()> {
        let mut session = self.session(view.plan);
        let action = session.on_wake(view.ledger, now);
        self.after(view.name, (session, now), action)
    }

    /// The caller gave up; `made` says whether the attempt that it left was made.
    #[cold]
    pub(super) fn give_up(
        &mut self,
        view: DestinationView<'_>,
        now: Instant,
        made: bool,
    ) -> Action<()> {
        let DestinationView { plan, chance, name, ledger } = view;
        let left = self.running(plan).launched.take();
        let mut session = self.session(plan);
        let mut action = session.cancel(ledger, now);
        if let Some(launched) = left {
            let mut draw = chance.draw(launched.attempt.number);
            if made {
                Session::abandon(ledger, now, launched, &mut draw);
            } else {
                Session::withdraw(ledger, now, launched, &mut draw);
                if let Action::Done(done) = &mut action {
                    done.attempts = done.attempts.saturating_sub(1);
                }
            }
        }
        self.after(name, (session, now), action)
    }

    /// The facts of the attempt that was decided on last.
    pub(super) fn info(&self, plan: &RetrierPlan) -> AttemptInfo {
        let policy = plan.policy_for(false);
        match self {
            Self::Running(running) => {
                let started = running.session.attach(policy).retry().started();
                let info = |launched: &Launched| {
                    AttemptInfo::of(policy, (started, running.now), &launched.attempt)
                };
                running.launched.as_ref().map_or_else(|| AttemptInfo::first(policy), info)
            }
            Self::First { single, .. } => AttemptInfo::first(plan.policy_for(*single)),
            Self::Unstarted { .. } | Self::Ended => AttemptInfo::first(policy),
        }
    }

    /// The most time that the attempt under way may take.
    pub(super) fn limit(&self, plan: &RetrierPlan) -> Option<Span> {
        match self {
            Self::First { single, .. } => plan.policy_for(*single).limits().first_attempt_limit(),
            Self::Running(running) => running.launched?.attempt.timeout,
            Self::Unstarted { .. } | Self::Ended => None,
        }
    }

    /// The share of the next attempt in the limits of the destination, once the session has started.
    pub(super) const fn limit_permit(&self) -> Option<&LimitPermit> {
        if let Self::Running(running) = self { Some(running.session.limit_permit()) } else { None }
    }

    /// Returns the wait from the last event to this instant.
    pub(super) fn delay_until(&self, at: Instant) -> Span {
        if let Self::Running(running) = self { at - running.now } else { Span::ZERO }
    }

    /// The action that follows an attempt, as observers see it.
    pub(super) fn next_step(&self, action: &Action<()>) -> NextStep {
        match action {
            Action::Attempt(()) | Action::Hedge(()) => NextStep::Retry(Span::ZERO),
            Action::Wait(Wait::Until(at)) => NextStep::Retry(self.delay_until(*at)),
            Action::Wait(Wait::Copies { .. }) => NextStep::Copies,
            Action::Done(done) => NextStep::Stop(done.stop),
        }
    }

    fn run(&mut self, session: Detached, single: bool, launched: Option<Launched>) {
        let now = Instant::ORIGIN;
        *self = Self::Running(Box::new(RunningCall { session, single, launched, now }));
    }

    /// The session, made of the first attempt if there is none yet.
    fn running(&mut self, plan: &RetrierPlan) -> &mut RunningCall {
        if let Self::First { attempt, single, .. } = *self {
            let (session, launched) = attempt.session(plan.policy_for(single));
            self.run(session.detach(), single, Some(launched));
        }
        match self {
            Self::Running(running) => running,
            _ => {
                unreachable!("a call is started before its first event, and has none after its end")
            }
        }
    }

    fn session<'p>(&mut self, plan: &'p RetrierPlan) -> Session<'p> {
        let running = self.running(plan);
        running.session.attach(plan.policy_for(running.single))
    }

    /// Keeps the session after an event, and gives the driver the action that follows.
    fn after(
        &mut self,
        name: Option<&'static str>,
        (session, now): (Session<'_>, Instant),
        action: Action,
    ) -> Action<()> {
        let Self::Running(running) = self else {
            unreachable!("the session was attached from it");
        };
        (running.session, running.now) = (session.detach(), now);
        match action {
            Action::Attempt(launched) => {
                running.launched = Some(launched);
                Action::Attempt(())
            }
            Action::Hedge(launched) => {
                observe::hedged(name, launched.attempt.number);
                running.launched = Some(launched);
                Action::Hedge(())
            }
            Action::Wait(wait) => {
                match wait {
                    Wait::Until(at) if session.is_held() => observe::held(name, at - now),
                    Wait::Until(at) if session.is_paced() => observe::paced(name, at - now),
                    Wait::Until(at) if session.limit_permit().is_queued() => {
                        observe::queued(name, at - now);
                    }
                    Wait::Until(at) if !session.limit_permit().is_none() => {
                        observe::paced(name, at - now);
                    }
                    Wait::Until(_) | Wait::Copies { .. } => {}
                }
                Action::Wait(wait)
            }
            Action::Done(done) => {
                *self = Self::Ended;
                observe::ended(name, &done);
                Action::Done(done)
            }
        }
    }
}
