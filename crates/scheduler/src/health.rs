//! The health of an endpoint, as its queue has learned it: whether it is disabled, paused, failing
//! or recovering.

use stagger_core::breaker::{Admission, Breaker, Report, StateKind, Ticket, Transition};
use stagger_core::{Entropy, Hint, Instant, Verdict};

use super::classify::Classification;
use super::rules::QueueRules;
use crate::model::{Disabled, EndpointState, Handshake, HandshakeResult, LastFailure, Opened};

/// The state of an endpoint, and its breaker.
#[derive(Debug)]
pub(super) struct Health {
    endpoint_state: EndpointState,
    breaker: Breaker,
    /// Counts the breakers that there were: an attempt reports to the one that admitted it.
    generation: u32,
    /// Whether the endpoint was enabled and has not been probed yet.
    probation: bool,
}

/// The permit that the breaker gave an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct BreakerPermit {
    ticket: Ticket,
    generation: u32,
}

impl BreakerPermit {
    pub(super) const fn is_probe(&self) -> bool {
        self.ticket.is_probe()
    }
}

impl Health {
    pub(super) fn new(rules: &QueueRules, endpoint_state: EndpointState) -> Self {
        Self {
            endpoint_state,
            breaker: breaker_of(rules, endpoint_state.open),
            generation: 0,
            probation: false,
        }
    }

    /// Applies another plan: the history is discarded, but an open breaker stays open.
    pub(super) fn change(&mut self, rules: &QueueRules) {
        if rules.breaker != *self.breaker.plan() {
            self.replace_breaker(rules);
        }
    }

    /// Notes the result of a handshake, and since when it is the same.
    pub(super) fn remember_handshake(&mut self, now: Instant, result: HandshakeResult) {
        if self.endpoint_state.handshake.is_none_or(|last| last.result != result) {
            self.endpoint_state.handshake = Some(Handshake { result, at: now });
        }
    }

    /// A handshake of other settings says nothing about these.
    pub(super) const fn forget_handshake(&mut self) {
        self.endpoint_state.handshake = None;
    }

    pub(super) const fn endpoint_state(&self) -> EndpointState {
        self.endpoint_state
    }

    pub(super) fn breaker(&self, now: Instant) -> StateKind {
        self.breaker.state(now)
    }

    pub(super) fn next_probe(&self, now: Instant) -> Option<Instant> {
        self.breaker.open_until(now)
    }

    /// From when on an attempt may be made, as far as hints and the breaker's open time go.
    pub(super) fn opens(&self, now: Instant) -> Instant {
        let pause = self.endpoint_state.paused_until.unwrap_or(now);
        pause.max(self.breaker.open_until(now).unwrap_or(now))
    }

    /// Asks the breaker. The error is the instant before which asking again is in vain.
    pub(super) fn admit(&mut self, now: Instant) -> Result<BreakerPermit, Instant> {
        match self.breaker.admit(now) {
            Admission::Admitted(ticket) => {
                Ok(BreakerPermit { ticket, generation: self.generation })
            }
            Admission::Refused { until } => Err(until),
        }
    }

    /// Updates the health from an attempt; `Some` if that disables the endpoint. `backlog` is
    /// whether more is open than the delivery of this attempt.
    pub(super) fn learn(
        &mut self,
        now: Instant,
        rules: &QueueRules,
        (permit, classification): (&BreakerPermit, &Classification),
        backlog: bool,
        entropy: &mut impl Entropy,
    ) -> Option<Disabled> {
        let tried = permit.generation == self.generation && permit.is_probe();
        self.tell_breaker(now, permit, classification.report, entropy, backlog);
        let outcome = &classification.outcome;
        match outcome.verdict {
            Verdict::Cancelled => return None,
            Verdict::Ok => self.endpoint_state.failing_since = None,
            // Also a status that the endpoint lists: an endpoint that refuses every message is in trouble.
            _ => _ = self.endpoint_state.failing_since.get_or_insert(now),
        }
        self.endpoint_state.paused_until =
            self.endpoint_state.paused_until.filter(|until| *until > now);
        if let Some(hint) = outcome.hint.and_then(Hint::span) {
            let until = now + rules.pause(hint);
            self.endpoint_state.paused_until = self.endpoint_state.paused_until.max(Some(until));
            // The deliveries that gather during the pause must not arrive in one burst.
            self.endpoint_state.recovering_since = self.endpoint_state.paused_until;
        }
        let disabled = self.reason_to_disable(now, rules, classification.gone);
        if let Some(reason) = disabled {
            self.disable(rules, reason);
        }
        self.probation &= !tried;
        disabled
    }

    /// Notes an attempt that was not sent, because the endpoint's authorization server gave no access token: the endpoint
    /// fails, although its breaker has learned nothing about it. `Some` if that disables it.
    pub(super) fn note_unsent(
        &mut self,
        now: Instant,
        rules: &QueueRules,
        failure: LastFailure,
    ) -> Option<Disabled> {
        self.remember_failure(failure);
        _ = self.endpoint_state.failing_since.get_or_insert(now);
        let disabled = self.reason_to_disable(now, rules, false);
        if let Some(reason) = disabled {
            self.disable(rules, reason);
        }
        disabled
    }

    /// Remembers a failed attempt.
    pub(super) const fn remember_failure(&mut self, failure: LastFailure) {
        self.endpoint_state.last_failure = Some(failure);
    }

    /// One probe first, then the recovery. While a failed probe of an enabling before cools down, it
    /// waits for that. An endpoint that is enabled already is probed.
    pub(super) fn enable(&mut self, now: Instant, rules: &QueueRules) {
        if self.endpoint_state.disabled.take().is_none() {
            self.probe(now, rules);
            return;
        }
        let before = self.endpoint_state.open;
        self.endpoint_state.open = Some(Opened {
            until: before.map_or(now, |opened| opened.until.max(now)),
            open_time: before.map_or(rules.breaker.open_time(), |opened| opened.open_time),
        });
        self.endpoint_state.recovering_since = None;
        self.replace_breaker(rules);
        self.probation = true;
    }

    /// Disables the endpoint. Discards the history of the breaker, except for the cooldown after
    /// the failed probe of an endpoint that was enabled.
    pub(super) fn disable(&mut self, rules: &QueueRules, reason: Disabled) {
        self.endpoint_state.disabled = Some(reason);
        self.endpoint_state.recovering_since = None;
        if !self.probation {
            self.endpoint_state.open = None;
        }
        self.probation = false;
        self.replace_breaker(rules);
    }

    /// Ends a pause and an open time, so that the next attempt, a probe if the breaker was open, can be
    /// made now. Does nothing to a disabled endpoint. Returns whether the breaker is closed.
    pub(super) fn probe(&mut self, now: Instant, rules: &QueueRules) -> bool {
        if self.endpoint_state.disabled.is_some() {
            return false;
        }
        if self.endpoint_state.paused_until.take().is_some_and(|until| until > now) {
            self.endpoint_state.recovering_since =
                self.endpoint_state.recovering_since.map(|since| since.min(now));
        }
        match &mut self.endpoint_state.open {
            Some(opened) if opened.until > now => {
                opened.until = now;
                self.replace_breaker(rules);
                false
            }
            // A probe may be in flight, which has to find its breaker.
            Some(_) => false,
            None => true,
        }
    }

    pub(super) const fn recover(&mut self, now: Instant) {
        self.endpoint_state.recovering_since = Some(now);
    }

    /// Ends a recovery when no backlog is left, after its first stretch: before that, deliveries
    /// that are due in a moment may not be ready yet.
    pub(super) fn end_recovery(&mut self, now: Instant, rules: &QueueRules) {
        let first_stretch = rules.pace.recovery.over;
        if self.endpoint_state.recovering_since.is_some_and(|since| now - since >= first_stretch) {
            self.endpoint_state.recovering_since = None;
        }
    }

    /// A throttled probe counts as failed: the breaker would otherwise send the next one
    /// immediately.
    fn tell_breaker(
        &mut self,
        now: Instant,
        permit: &BreakerPermit,
        report: Report,
        entropy: &mut impl Entropy,
        backlog: bool,
    ) {
        if permit.generation != self.generation {
            return;
        }
        let report = match report {
            Report::Throttled if permit.is_probe() => Report::Failure,
            report => report,
        };
        match self.breaker.report(now, permit.ticket, report, entropy) {
            Some(Transition::Opened { until, .. }) => {
                let open_time = self.breaker.open_time();
                self.endpoint_state.open = Some(Opened { until, open_time });
                self.endpoint_state.recovering_since = None;
            }
            Some(Transition::Closed { .. }) => {
                self.endpoint_state.open = None;
                self.endpoint_state.recovering_since = backlog.then_some(now);
            }
            None => {}
        }
    }

    fn reason_to_disable(&self, now: Instant, rules: &QueueRules, gone: bool) -> Option<Disabled> {
        if self.endpoint_state.disabled.is_some() {
            return None;
        }
        let for_too_long = |since| now - since >= rules.disable_after;
        if gone {
            Some(Disabled::Gone)
        } else {
            self.endpoint_state.failing_since.is_some_and(for_too_long).then_some(Disabled::Failing)
        }
    }

    fn replace_breaker(&mut self, rules: &QueueRules) {
        self.breaker = breaker_of(rules, self.endpoint_state.open);
        self.generation = self.generation.wrapping_add(1);
    }
}

fn breaker_of(rules: &QueueRules, open: Option<Opened>) -> Breaker {
    match open {
        Some(Opened { until, open_time }) => Breaker::reopened(rules.breaker, until, open_time),
        None => Breaker::new(rules.breaker),
    }
}
