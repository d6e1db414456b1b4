//! Calls whose attempts fail at once, played by the engine's own machine, with chance under a fixed seed.

use stagger_core::retry::{Action, Ask, Call, Permit, Retry, Step, Wait};
use stagger_core::{Backoff, Instant, Jitter, Outcome, Policy, Span, Verdict};

use crate::Method;
use crate::delay::MAX_ROWS;
use crate::figure::{Chance, float, mean};
use crate::granted::LoneCall;

/// Calls that are played: an error of a third of a percent at a median.
const CALLS: u32 = 100_000;
/// Attempts of all calls together, for policies of very many attempts: a fraction of a second.
const MAX_WORK: u32 = 4_000_000;
/// Attempts after which a single call is followed no further.
const MAX_ATTEMPTS: u32 = 100_000;
/// The stream of these draws.
const STREAM: u64 = 2;

/// The results of the calls.
#[derive(Clone, Debug)]
pub(crate) struct PlayedCalls {
    calls: u32,
    attempts: u64,
    rows: Vec<AttemptCounts>,
    /// The start of each call's last attempt.
    pub(crate) lasts: Vec<Span>,
    /// Whether one call is like all others.
    fixed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct AttemptCounts {
    reached: u32,
    /// Calls that the budget grants all retries up to here, when they fail alone.
    granted: u32,
    starts: u128,
}

impl PlayedCalls {
    /// Plays calls whose attempts fail with this verdict as soon as they start. No breaker is
    /// asked, and the budget refuses nothing: it only notes the attempts that it would grant.
    pub(crate) fn play(policy: &Policy, verdict: Verdict, rps: Option<f64>) -> Self {
        let fixed = backoff(policy, verdict).jitter() == Jitter::None;
        let mut all = Self { calls: 0, attempts: 0, rows: vec![], lasts: vec![], fixed };
        let mut chance = Chance::new(STREAM);
        let mut budget = LoneCall::new(policy.budget(), rps);
        all.one(policy, verdict, &mut budget, &mut chance);
        let long = u32::try_from(all.attempts).unwrap_or(u32::MAX).max(1);
        let more = if fixed { 0 } else { CALLS.min(MAX_WORK / long) };
        while all.calls < more {
            all.one(policy, verdict, &mut budget, &mut chance);
        }
        all
    }

    /// The method of figures from these calls.
    pub(crate) const fn method(&self) -> Method {
        if self.fixed { Method::Exact } else { Method::Sample { calls: self.calls } }
    }

    /// The share of calls that made this attempt, counted from 1.
    pub(crate) fn reached(&self, attempt: usize) -> f64 {
        let made = self.rows.get(attempt.wrapping_sub(1)).map_or(0, |row| row.reached);
        f64::from(made) / f64::from(self.calls.max(1))
    }

    /// The share of calls that made this attempt and whose budget grants it when they fail alone.
    pub(crate) fn granted(&self, attempt: usize) -> f64 {
        let made = self.rows.get(attempt.wrapping_sub(1)).map_or(0, |row| row.granted);
        f64::from(made) / f64::from(self.calls.max(1))
    }

    /// Whether the budget refuses an attempt of the rows to a call that fails alone.
    pub(crate) fn refused(&self) -> bool {
        self.rows.iter().any(|row| row.granted < row.reached)
    }

    /// The mean start of this attempt, of the calls that made it.
    pub(crate) fn start(&self, attempt: usize) -> Span {
        let row = self.rows.get(attempt.wrapping_sub(1)).copied().unwrap_or_default();
        mean(row.starts, u64::from(row.reached))
    }

    /// Attempts of a call in the mean.
    pub(crate) fn attempts(&self) -> f64 {
        float(self.attempts) / f64::from(self.calls.max(1))
    }

    fn one(
        &mut self,
        policy: &Policy,
        verdict: Verdict,
        budget: &mut LoneCall<'_>,
        chance: &mut Chance,
    ) {
        let failed = Outcome::new(verdict);
        budget.restart();
        let mut granted = true;
        let (mut now, mut last, mut made) = (Instant::ORIGIN, Span::ZERO, 0);
        let (mut call, mut step) = Retry::start(policy, Call::idempotent(), now);
        while made < MAX_ATTEMPTS {
            step = match step {
                Step::Act(Action::Attempt(_) | Action::Hedge(_)) => {
                    last = call.elapsed(now);
                    self.note(made as usize, last, granted);
                    made += 1;
                    call.on_outcome(policy, now, &failed, chance)
                }
                Step::Ask(ask) => {
                    if let Ask::Budget(charge) = ask {
                        granted = granted && budget.ask(call.elapsed(now), charge);
                    }
                    call.on_permit(policy, now, Permit::Granted)
                }
                Step::Act(Action::Wait(Wait::Until(at))) => {
                    now = at;
                    call.on_wake(policy, now)
                }
                // No copy is ever under way where attempts fail at once.
                Step::Act(Action::Wait(Wait::Copies { .. }) | Action::Done(_)) => break,
            };
        }
        self.calls += 1;
        self.attempts += u64::from(made);
        self.lasts.push(last);
    }

    fn note(&mut self, index: usize, start: Span, granted: bool) {
        if index >= MAX_ROWS {
            return;
        }
        if self.rows.len() <= index {
            self.rows.resize(index + 1, AttemptCounts::default());
        }
        self.rows[index].reached += 1;
        self.rows[index].granted += u32::from(granted);
        self.rows[index].starts += u128::from(start.as_nanos());
    }
}

/// The backoff after this verdict.
pub(crate) fn backoff(policy: &Policy, verdict: Verdict) -> &Backoff {
    match verdict {
        Verdict::Throttled => policy.throttled_backoff(),
        _ => policy.backoff(),
    }
}
