//! Calls in virtual time: the outcomes of a script, one attempt after the other.

use stagger_core::retry::{Action, Call, Done, PlainLedger, Session, Wait};
use stagger_core::{
    Backoff, Entropy, Instant, Jitter, Outcome, Policy, PolicyBuilder, Span, Verdict,
};
use stagger_testkit::highest;

/// A failure that may heal.
pub(crate) const FAILED: Outcome = Outcome::new(Verdict::Transient);
/// The server limits us.
pub(crate) const THROTTLED: Outcome = Outcome::new(Verdict::Throttled);

/// The instant `secs` seconds after the origin.
pub(crate) fn at(secs: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(secs)
}

/// A span of whole seconds.
pub(crate) const fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

/// Delays of exactly 1, 2, 4, ... s, and no budget.
pub(crate) fn doubling() -> PolicyBuilder {
    let rule = Backoff::exponential(secs(1), secs(3_600)).expect("within bounds");
    Policy::builder()
        .backoff(rule.with_jitter(Jitter::None).expect("a law without ratio"))
        .budget(stagger_core::budget::BudgetPlan::Unlimited)
}

/// The record of one scripted call.
#[derive(Debug)]
pub(crate) struct Run {
    /// The start of each attempt, after the start of the call.
    pub(crate) starts: Vec<Span>,
    /// The time limit of each attempt.
    pub(crate) timeouts: Vec<Option<Span>>,
    /// The end of the call.
    pub(crate) done: Done,
}

/// A destination whose attempts take a given time and end as a script says.
#[derive(Clone, Debug)]
pub(crate) struct Script<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) ledger: PlainLedger,
    pub(crate) now: Instant,
    /// The duration of every attempt.
    pub(crate) took: Span,
}

impl<'p> Script<'p> {
    pub(crate) fn new(policy: &'p Policy) -> Self {
        let ledger = PlainLedger::new(policy);
        Self { policy, ledger, now: Instant::ORIGIN, took: Span::ZERO }
    }

    /// An idempotent call with the longest delays.
    pub(crate) fn run(&mut self, outcomes: &[Outcome]) -> Run {
        self.call(Call::idempotent(), outcomes, &mut highest())
    }

    /// One call; the last outcome of the script repeats for ever.
    pub(crate) fn call(
        &mut self,
        call: Call,
        outcomes: &[Outcome],
        entropy: &mut impl Entropy,
    ) -> Run {
        let (mut starts, mut timeouts) = (Vec::new(), Vec::new());
        let begun = self.now;
        let last = outcomes.last().expect("a script is not empty");
        let mut outcomes = outcomes.iter().chain(std::iter::repeat(last));
        let (mut session, mut act) = Session::start(self.policy, &mut self.ledger, call, self.now);
        loop {
            act = match act {
                Action::Attempt(launched) => {
                    starts.push(self.now - begun);
                    timeouts.push(launched.attempt.timeout);
                    self.now = self.now + self.took;
                    let outcome = outcomes.next().expect("it repeats for ever");
                    session.on_outcome(&mut self.ledger, self.now, launched, outcome, entropy)
                }
                Action::Wait(Wait::Until(wake)) => {
                    self.now = self.now.max(wake);
                    session.on_wake(&mut self.ledger, self.now)
                }
                Action::Done(done) => return Run { starts, timeouts, done },
                other => panic!("no copies in this script: {other:?}"),
            }
        }
    }
}
