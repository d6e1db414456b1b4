//! The queue of one endpoint: its open deliveries, and everything that holds them back.

use std::collections::BTreeMap;

use stagger_core::budget::Paid;
use stagger_core::{Entropy, Hint, Instant, Span, Verdict};

use super::classify::{Classification, classify};
use super::health::{BreakerPermit, Health};
use super::pacer::Pacer;
use super::pending_index::PendingIndex;
use super::rules::QueueRules;
use super::transition::{QueueState, QueuedDelivery, Transition};
use super::unsent_hold::{NO_CONSENT, NO_TOKEN, UnsentHold};
use super::{Launch, OperationalEvent, QueueChange, QueueView, SettledAttempt, pacer, transition};
use crate::model::{
    ApplicationId, AttemptAnswer, AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding,
    DeliveryState, Disabled, Endpoint, EndpointId, EndpointState, HandshakeResult, LastFailure,
    MessageId, REPLY_LIMIT,
};

/// The pause of an endpoint after an attempt for which the node lacked resources: others give some back
/// within moments, and an attempt that cannot be made costs little.
const LOCAL_PAUSE: Span = Span::from_secs(1);

/// The queue of an endpoint.
#[derive(Debug)]
pub(super) struct EndpointQueue {
    id: EndpointId,
    application: ApplicationId,
    rules: QueueRules,
    health: Health,
    pacer: Pacer,
    pending: PendingIndex,
    in_flight: BTreeMap<u64, InFlight>,
    /// Nothing is launched before, because the node lacked resources.
    paused_until: Instant,
    /// Nothing is launched while its authorization server gives no access token, or it has not consented.
    unsent_hold: UnsentHold,
    /// Whether it launches nothing, because it is being given up.
    draining: bool,
}

/// An attempt in flight, with its permits.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    message: MessageId,
    permit: BreakerPermit,
    is_retry: bool,
    paid: Option<Paid>,
    /// Its delivery was taken out.
    is_orphan: bool,
}

/// The reason for which a queue launches nothing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Nothing before this.
    Until(Instant),
    /// Nothing until the next event.
    Told,
}

/// The selected delivery, and the charge of its retry.
struct Selection {
    message: MessageId,
    is_retry: bool,
    paid: Option<Paid>,
}

impl EndpointQueue {
    pub(super) fn new(endpoint: &Endpoint, endpoint_state: EndpointState) -> Self {
        let rules = QueueRules::of(endpoint);
        let granted = endpoint_state.handshake.and_then(|handshake| handshake.result.rate());
        let granted = granted.filter(|_| rules.handshake_with.is_some());
        let pacer = Pacer::new(&rules, granted);
        Self {
            id: endpoint.id,
            application: endpoint.application,
            health: Health::new(&rules, endpoint_state),
            pacer,
            rules,
            pending: PendingIndex::default(),
            in_flight: BTreeMap::new(),
            paused_until: Instant::ORIGIN,
            unsent_hold: UnsentHold::default(),
            draining: false,
        }
    }

    /// The queue of an endpoint whose attempts another node has made until now.
    pub(super) fn taken_over(
        now: Instant,
        endpoint: &Endpoint,
        endpoint_state: EndpointState,
    ) -> Self {
        let mut queue = Self::new(endpoint, endpoint_state);
        queue.pacer.take_over(now, &queue.rules, endpoint_state.recovering_since);
        queue
    }

    /// Takes changed settings.
    pub(super) fn change(&mut self, endpoint: &Endpoint) {
        let rules = QueueRules::of(endpoint);
        if rules.handshake_with != self.rules.handshake_with {
            self.health.forget_handshake();
            self.pacer.forget_grant();
        }
        self.rules = rules;
        self.health.change(&self.rules);
        self.pacer.change(&self.rules);
        // The new settings may be what was wrong.
        self.unsent_hold.end();
    }

    pub(super) const fn application(&self) -> ApplicationId {
        self.application
    }

    /// Open deliveries.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// The attempts in flight, by serial number.
    pub(super) fn in_flight(&self) -> impl ExactSizeIterator<Item = u64> {
        self.in_flight.keys().copied()
    }

    /// Launches nothing any more.
    pub(super) const fn drain(&mut self) {
        self.draining = true;
    }

    /// Launches no retry before `until`; first attempts go on.
    pub(super) fn hold_retries(&mut self, until: Instant) {
        self.pacer.hold_retries(until);
    }

    pub(super) fn add(&mut self, now: Instant, delivery: &Delivery) {
        if !delivery.state.is_open() {
            return;
        }
        let queued = QueuedDelivery::of(delivery);
        if !self.pending.put(now, queued) {
            self.pending.bring_forward(now, &queued);
        }
    }

    /// Makes an open delivery due and the next of the queue; also the probe, if the breaker is open. In
    /// a queue that keeps order, the oldest delivery becomes due too, because it goes first.
    pub(super) fn retry(&mut self, now: Instant, message: MessageId) -> Option<QueueChange> {
        let before = self.health.endpoint_state();
        let queued = self.pending.make_next(now, message)?;
        if self.rules.ordered
            && let Some(head) = self.pending.oldest().map(|head| head.message)
        {
            self.pending.make_next(now, head);
        }
        self.unsent_hold.end();
        self.health.probe(now, &self.rules);
        let state = self.health.endpoint_state();
        Some(QueueChange {
            delivery: Some(queued.to_delivery(self.id, self.application)),
            endpoint_state: (state != before).then_some((self.id, state)),
            ..QueueChange::default()
        })
    }

    /// Ends a pause, and lets a probe go if the breaker is open; else the backlog leaves slowly.
    pub(super) fn probe(&mut self, now: Instant) -> EndpointState {
        self.unsent_hold.end();
        if self.health.probe(now, &self.rules) {
            self.health.recover(now);
        }
        self.health.endpoint_state()
    }

    pub(super) fn cancel(&mut self, now: Instant, message: MessageId) -> Option<Delivery> {
        let queued = self.pending.take(message)?;
        if queued.state == QueueState::UnderWay {
            let mut living = self.in_flight.values_mut().filter(|attempt| !attempt.is_orphan);
            if let Some(attempt) = living.find(|attempt| attempt.message == message) {
                attempt.is_orphan = true;
            }
        }
        let queued = QueuedDelivery { changed_at: now, ..queued };
        Some(Delivery {
            state: DeliveryState::Cancelled,
            ending: Some(DeliveryEnding::Cancelled),
            ..queued.to_delivery(self.id, self.application)
        })
    }

    /// Launches the next attempt, or returns what holds it back.
    pub(super) fn launch(&mut self, now: Instant, serial: u64) -> Result<Launch, Blocked> {
        let recovering = self.health.endpoint_state().recovering_since;
        self.check_room()?;
        let opens = self.health.opens(now).max(self.pacer.opens(&self.rules, recovering));
        let opens = opens.max(self.paused_until).max(self.unsent_hold.until());
        if opens > now {
            return Err(Blocked::Until(opens));
        }
        let Selection { message, is_retry, paid } = self.pick(now)?;
        let permit = self.health.admit(now).map_err(|until| {
            self.pacer.refund(now, paid);
            Blocked::Until(until)
        })?;
        self.pacer.launched(now, &self.rules, recovering, is_retry);
        let queued = self.pending.launch(message).ok_or(Blocked::Told)?;
        self.in_flight
            .insert(serial, InFlight { message, permit, is_retry, paid, is_orphan: false });
        Ok(Launch {
            message,
            endpoint: self.id,
            application: self.application,
            number: queued.attempts.saturating_add(1),
            retry: is_retry,
            probe: permit.is_probe(),
            at: now,
            serial,
        })
    }

    /// Settles a launched attempt; `None` if there is nothing to store.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        launch: &Launch,
        answer: AttemptAnswer,
        entropy: &mut impl Entropy,
    ) -> Option<SettledAttempt> {
        let attempt = self.in_flight.remove(&launch.serial)?;
        if answer.result == Err(AttemptFailure::Local) {
            self.paused_until = now + LOCAL_PAUSE;
        }
        let before = self.health.endpoint_state();
        let classification = classify(&self.rules.permanent, &answer);
        let told = (&classification.outcome, answer.written);
        self.pacer.settled(now, told, (attempt.is_retry, attempt.paid));
        let backlog = self.pending.len() > usize::from(!attempt.is_orphan);
        let told = (&attempt.permit, &classification);
        let mut disabled = self.health.learn(now, &self.rules, told, backlog, entropy);
        self.learn_handshake(now, &answer);
        let unsent = match answer.result {
            Err(AttemptFailure::Token) => Some((NO_TOKEN, AttemptFailure::Token)),
            Err(AttemptFailure::Handshake) => Some((NO_CONSENT, AttemptFailure::Handshake)),
            _ => None,
        };
        if let Some((plan, failure)) = unsent {
            let pause = answer.hint.and_then(Hint::span).map(|hint| self.rules.pause(hint));
            self.unsent_hold.extend(now, plan, pause, entropy);
            let (status, failure) = (None, Some(failure));
            let unsent = LastFailure { message: attempt.message, at: now, status, failure };
            disabled = self.health.note_unsent(now, &self.rules, unsent);
        } else if classification.outcome.verdict != Verdict::Cancelled {
            self.unsent_hold.end();
        }
        if !matches!(classification.outcome.verdict, Verdict::Ok | Verdict::Cancelled) {
            let (status, failure) = (answer.result.ok(), answer.result.err());
            let message = attempt.message;
            self.health.remember_failure(LastFailure { message, at: now, status, failure });
        }
        let queued = if attempt.is_orphan { None } else { self.pending.take(attempt.message) };
        let (change, dead) = match queued {
            Some(queued) if classification.outcome.verdict == Verdict::Cancelled => {
                self.pending.put(now, queued);
                (QueueChange::default(), None)
            }
            Some(queued) => {
                self.settle_delivery(now, queued, launch, (answer, classification), entropy)
            }
            None => (QueueChange::default(), None),
        };
        let since = self.health.endpoint_state().recovering_since;
        if !self.pending.has_ready(now) || pacer::is_unbounded(now, &self.rules, since) {
            self.health.end_recovery(now, &self.rules);
        }
        let endpoint_state = self.health.endpoint_state();
        let endpoint_state = (endpoint_state != before).then_some((self.id, endpoint_state));
        // Of two events, the one about the endpoint is more important.
        let event = disabled.map(|why| OperationalEvent::EndpointDisabled(self.id, why)).or(dead);
        let something = change.delivery.is_some() || endpoint_state.is_some();
        something
            .then_some(SettledAttempt { change: QueueChange { endpoint_state, ..change }, event })
    }

    /// Notes what an attempt has learned about the endpoint's consent. An endpoint that does not want a handshake any more
    /// has forgotten it already.
    fn learn_handshake(&mut self, now: Instant, answer: &AttemptAnswer) {
        let refused = HandshakeResult::Refused { status: None };
        let unanswered = answer.result == Err(AttemptFailure::Handshake);
        let result = answer.handshake.or(unanswered.then_some(refused));
        let Some(result) = result.filter(|_| self.rules.handshake_with.is_some()) else { return };
        self.pacer.grant(now, &self.rules, result.rate());
        self.health.remember_handshake(now, result);
    }

    pub(super) fn enable(&mut self, now: Instant) -> EndpointState {
        self.unsent_hold.end();
        self.health.enable(now, &self.rules);
        if !self.pending.has_ready(now) && self.health.endpoint_state().open.is_some() {
            // Without a delivery that is due there would be nothing to probe with.
            self.pending.make_first_due(now);
        }
        self.health.endpoint_state()
    }

    pub(super) fn disable(&mut self, reason: Disabled) -> EndpointState {
        self.health.disable(&self.rules, reason);
        self.health.endpoint_state()
    }

    pub(super) fn recover(&mut self, now: Instant) -> EndpointState {
        self.health.recover(now);
        self.health.endpoint_state()
    }

    pub(super) const fn set_alerted(&mut self, since: Option<Instant>) -> EndpointState {
        self.health.set_alerted(since);
        self.health.endpoint_state()
    }

    pub(super) fn view(&self, now: Instant) -> QueueView {
        let endpoint_state = self.health.endpoint_state();
        QueueView {
            endpoint_state,
            breaker: self.health.breaker(now),
            next_probe: self.health.next_probe(now),
            ready: self.pending.ready(),
            waiting: self.pending.waiting(),
            in_flight: self.in_flight.len(),
            rate: self.pacer.rate(now, &self.rules, endpoint_state.recovering_since),
        }
    }

    fn check_room(&self) -> Result<(), Blocked> {
        let full = self.in_flight.len() >= self.most_at_once();
        let disabled = self.health.endpoint_state().disabled.is_some();
        let held = self.draining || full || disabled || self.pending.len() == 0 || self.is_probed();
        if held { Err(Blocked::Told) } else { Ok(()) }
    }

    /// The most attempts in flight: one until the endpoint has consented, because the rate that it allows is not known.
    fn most_at_once(&self) -> usize {
        let handshake = self.health.endpoint_state().handshake;
        let consented = handshake.is_some_and(|handshake| handshake.result.is_granted());
        match self.rules.handshake_with.is_some() && !consented {
            true => 1,
            false => self.rules.most_at_once(),
        }
    }

    /// Whether all probes are in flight, including those sent before the breaker was changed:
    /// neither new settings nor enabling again sends a further one.
    fn is_probed(&self) -> bool {
        let probes = || self.in_flight.values().filter(|attempt| attempt.permit.is_probe()).count();
        // OK because a plan has at most 100 probes.
        self.health.endpoint_state().open.is_some()
            && probes() >= self.rules.breaker.probes() as usize
    }

    /// The oldest delivery that may be attempted: of all if order is required, else of those that
    /// are ready.
    fn pick(&mut self, now: Instant) -> Result<Selection, Blocked> {
        self.pending.wake(now);
        let (message, is_retry) = if self.rules.ordered {
            match self.pending.oldest() {
                Some(head) if head.due > now => return Err(Blocked::Until(head.due)),
                Some(head) => (head.message, head.is_retry()),
                None => return Err(Blocked::Told),
            }
        } else {
            let none = || self.pending.next_due().map_or(Blocked::Told, Blocked::Until);
            self.pending.first_ready().ok_or_else(none)?
        };
        if !is_retry {
            return Ok(Selection { message, is_retry, paid: None });
        }
        // A budget that refuses holds back retries: first attempts go on, unless order forbids it.
        let fresh = self.pending.first_fresh().filter(|_| !self.rules.ordered);
        match (self.pacer.ask(now), fresh) {
            (Ok(paid), _) => Ok(Selection { message, is_retry, paid }),
            (Err(_), Some(message)) => Ok(Selection { message, is_retry: false, paid: None }),
            (Err(until), None) => Err(Blocked::Until(until)),
        }
    }

    /// Moves a delivery to its next state, and reports an event if it is dead.
    fn settle_delivery(
        &mut self,
        now: Instant,
        mut queued: QueuedDelivery,
        launch: &Launch,
        (answer, classification): (AttemptAnswer, Classification),
        entropy: &mut impl Entropy,
    ) -> (QueueChange, Option<OperationalEvent>) {
        let outcome = classification.for_call();
        let (times, classified) = ((launch.at, now), (&outcome, classification.ending));
        let transition = transition::settle(&mut queued, &self.rules, times, classified, entropy);
        let open = queued.to_delivery(self.id, self.application);
        let (delivery, next, event) = match transition {
            Transition::Waiting => {
                self.pending.put(now, queued);
                (open, Some(queued.due), None)
            }
            Transition::Delivered => {
                (Delivery { state: DeliveryState::Delivered, call: None, ..open }, None, None)
            }
            Transition::Dead(ending) => {
                let refused = classification.ending == DeliveryEnding::EgressRefused;
                let ending = Some(if refused { DeliveryEnding::EgressRefused } else { ending });
                let event = OperationalEvent::DeliveryDead(self.id, queued.message);
                (Delivery { state: DeliveryState::Dead, ending, ..open }, None, Some(event))
            }
        };
        let attempt = attempt_of(launch, answer, &classification, next);
        let (delivery, attempt) = (Some(delivery), Some(attempt));
        (QueueChange { delivery, attempt, ..QueueChange::default() }, event)
    }
}

fn attempt_of(
    launch: &Launch,
    answer: AttemptAnswer,
    classification: &Classification,
    next: Option<Instant>,
) -> DeliveryAttempt {
    let mut reply = answer.reply;
    reply.truncate(REPLY_LIMIT);
    DeliveryAttempt {
        message: launch.message,
        endpoint: launch.endpoint,
        number: launch.number,
        started_at: launch.at,
        latency: answer.latency,
        status: answer.result.ok(),
        failure: answer.result.err(),
        detail: answer.detail,
        reply,
        verdict: classification.outcome.verdict,
        hint: answer.hint.and_then(Hint::span),
        next,
    }
}
