//! One lane: an endpoint, its open deliveries, and what holds them back.

use std::collections::BTreeMap;

use stagger::breaker::{Admission, Breaker, Report, Ticket, Transition};
use stagger::budget::{Budget, Charge, Paid, Settled as Spent};
use stagger::{Entropy, Hint, Instant, Outcome, Span, Verdict};

use super::gate::Gate;
use super::judge::{Judgement, judge};
use super::lifecycle::{self, Fate};
use super::parcel::{Parcel, Place};
use super::recovery::{self, MICROS};
use super::rules::Rules;
use super::shelf::Shelf;
use super::{LaneView, Launch, News, Settled};
use crate::model::{
    Answer, ApplicationId, Attempt, Delivery, DeliveryState, Disabled, Ending, Endpoint,
    EndpointId, MessageId, Opened, REPLY_LIMIT, Standing,
};
use crate::store::Settlement;

/// How much of its cap on the rate an endpoint may get at once: a tenth of a second's worth. Less would
/// cost it traffic, because timers are not exact; more would be felt.
const CAP_SLACK: Span = Span::from_millis(100);

/// The same for a recovery, whose point is that nothing comes at once: a few ticks of a timer.
const RECOVERY_SLACK: Span = Span::from_millis(5);

/// A budget that refuses still lets a retry go this long after the last one: the floor of the engine's
/// default budget. Some budgets are refilled by successes only, and would hold the last deliveries for
/// ever.
const TRICKLE: Span = Span::from_secs(1);

/// An endpoint's lane.
#[derive(Debug)]
pub(super) struct Lane {
    id: EndpointId,
    application: ApplicationId,
    rules: Rules,
    standing: Standing,
    breaker: Breaker,
    /// Counts the breakers that this lane has had: an attempt reports to the one that admitted it.
    era: u32,
    budget: Budget,
    cap: Gate,
    recovery: Gate,
    /// When the last retry was launched.
    retried_at: Instant,
    /// Whether it was enabled and nobody knows yet whether it is well.
    on_trial: bool,
    shelf: Shelf,
    flights: BTreeMap<u64, Flight>,
}

/// An attempt under way, with the permits that it holds.
#[derive(Clone, Copy, Debug)]
struct Flight {
    message: MessageId,
    ticket: Ticket,
    era: u32,
    paid: Option<Paid>,
    retry: bool,
    /// Its delivery was taken out.
    orphan: bool,
}

/// Why a lane launches nothing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing before this.
    Until(Instant),
    /// Nothing until something is told.
    Told,
}

/// The delivery whose turn it is, and what its retry has paid.
struct Pick {
    message: MessageId,
    retry: bool,
    paid: Option<Paid>,
}

impl Lane {
    pub(super) fn new(endpoint: &Endpoint, standing: Standing) -> Self {
        let rules = Rules::of(endpoint);
        let breaker = breaker_of(&rules, standing.open);
        Self {
            id: endpoint.id,
            application: endpoint.application,
            budget: Budget::new(rules.budget),
            rules,
            standing,
            breaker,
            era: 0,
            cap: Gate::default(),
            recovery: Gate::default(),
            retried_at: Instant::ORIGIN,
            on_trial: false,
            shelf: Shelf::default(),
            flights: BTreeMap::new(),
        }
    }

    /// Takes changed settings. Breaker and budget forget what they have seen if their plans change, but
    /// an open breaker stays open.
    pub(super) fn change(&mut self, endpoint: &Endpoint) {
        let rules = Rules::of(endpoint);
        if rules.breaker != self.rules.breaker {
            self.replace_breaker(breaker_of(&rules, self.standing.open));
        }
        if rules.budget != self.rules.budget {
            self.budget = Budget::new(rules.budget);
        }
        self.rules = rules;
    }

    pub(super) const fn application(&self) -> ApplicationId {
        self.application
    }

    /// Open deliveries.
    pub(super) fn len(&self) -> usize {
        self.shelf.len()
    }

    /// Attempts under way.
    pub(super) fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// The attempts under way, by number.
    pub(super) fn flights(&self) -> impl Iterator<Item = u64> {
        self.flights.keys().copied()
    }

    pub(super) fn add(&mut self, now: Instant, delivery: &Delivery) {
        if delivery.state.is_open() {
            self.shelf.put(now, Parcel::of(delivery));
        }
    }

    pub(super) fn cancel(&mut self, now: Instant, message: MessageId) -> Option<Delivery> {
        let parcel = self.shelf.take(message)?;
        if parcel.place == Place::UnderWay {
            let mut flights = self.flights.values_mut().filter(|flight| !flight.orphan);
            if let Some(flight) = flights.find(|flight| flight.message == message) {
                flight.orphan = true;
            }
        }
        let parcel = Parcel { changed_at: now, ..parcel };
        Some(Delivery {
            state: DeliveryState::Cancelled,
            ending: Some(Ending::Cancelled),
            ..parcel.to_delivery(self.id, self.application)
        })
    }

    /// Launches the attempt whose turn it is, or says what holds it back.
    pub(super) fn launch(&mut self, now: Instant, serial: u64) -> Result<Launch, Hold> {
        self.check_room()?;
        self.check_time(now)?;
        let pick = self.pick(now)?;
        let ticket = match self.breaker.admit(now) {
            Admission::Admitted(ticket) => ticket,
            Admission::Refused { until } => {
                pick.paid.map(|paid| self.budget.refund(now, paid));
                return Err(Hold::Until(until));
            }
        };
        self.pay(now, &pick);
        let parcel = self.shelf.launch(pick.message).ok_or(Hold::Told)?;
        let Pick { message, retry, paid } = pick;
        let flight = Flight { message, ticket, era: self.era, paid, retry, orphan: false };
        self.flights.insert(serial, flight);
        Ok(Launch {
            message,
            endpoint: self.id,
            application: self.application,
            number: parcel.attempts.saturating_add(1),
            probe: ticket.is_probe(),
            at: now,
            serial,
        })
    }

    /// What a launched attempt brought back; nothing if there is nothing to store.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        launch: &Launch,
        answer: Answer,
        entropy: &mut impl Entropy,
    ) -> Option<Settled> {
        let flight = self.flights.remove(&launch.serial)?;
        let before = self.standing;
        let judgement = judge(&self.rules.permanent, &answer);
        self.tell_budget(now, &flight, &judgement.outcome);
        let disabled = self.learn(now, &flight, &judgement, entropy);
        let parcel = if flight.orphan { None } else { self.shelf.take(flight.message) };
        let mut settled = match parcel {
            Some(parcel) if judgement.outcome.verdict == Verdict::Cancelled => {
                self.shelf.put(now, parcel);
                Settled { settlement: Settlement::default(), news: None }
            }
            Some(parcel) => self.settle_parcel(now, parcel, launch, (answer, judgement), entropy),
            None => Settled { settlement: Settlement::default(), news: None },
        };
        self.end_recovery(now);
        settled.news = disabled.map(|why| News::EndpointDisabled(self.id, why)).or(settled.news);
        settled.settlement.standing = (self.standing != before).then_some((self.id, self.standing));
        let something = settled.settlement.delivery.is_some()
            || settled.settlement.standing.is_some()
            || settled.news.is_some();
        something.then_some(settled)
    }

    /// One probe first, then the recovery. While a failed probe of an enabling before cools down, it
    /// waits for that.
    pub(super) fn enable(&mut self, now: Instant) -> Standing {
        if self.standing.disabled.take().is_some() {
            let plan = self.rules.breaker;
            let before = self.standing.open;
            let opened = Opened {
                until: before.map_or(now, |opened| opened.until.max(now)),
                open_time: before.map_or(plan.open_time(), |opened| opened.open_time),
            };
            self.standing.open = Some(opened);
            self.standing.recovering_since = None;
            self.replace_breaker(breaker_of(&self.rules, self.standing.open));
            self.on_trial = true;
        }
        self.standing
    }

    /// Its deliveries wait. What its breaker has seen is forgotten, but for the cooldown after a failed
    /// probe of an enabling.
    pub(super) fn disable(&mut self, reason: Disabled) -> Standing {
        self.standing.disabled = Some(reason);
        self.standing.recovering_since = None;
        if !self.on_trial {
            self.standing.open = None;
        }
        self.on_trial = false;
        self.replace_breaker(breaker_of(&self.rules, self.standing.open));
        self.standing
    }

    pub(super) fn recover(&mut self, now: Instant) -> Standing {
        self.standing.recovering_since = Some(now);
        self.standing
    }

    pub(super) fn view(&self, now: Instant) -> LaneView {
        LaneView {
            standing: self.standing,
            breaker: self.breaker.state(now),
            next_probe: self.breaker.open_until(now),
            ready: self.shelf.ready(),
            waiting: self.shelf.waiting(),
            in_flight: self.flights.len(),
            rate: self.rate(now),
        }
    }

    fn check_room(&self) -> Result<(), Hold> {
        let full = self.flights.len() >= self.rules.most_at_once();
        let idle = full || self.standing.disabled.is_some() || self.shelf.len() == 0;
        if idle || self.is_probed() { Err(Hold::Told) } else { Ok(()) }
    }

    /// Whether all probes are under way, those counted that were sent before the breaker was changed:
    /// neither new settings nor enabling again sends a further one.
    fn is_probed(&self) -> bool {
        let probes = || self.flights.values().filter(|flight| flight.ticket.is_probe()).count();
        self.standing.open.is_some() && probes() >= self.rules.breaker.probes() as usize
    }

    /// Pause, open breaker, cap and recovery: what is over at a known time.
    fn check_time(&self, now: Instant) -> Result<(), Hold> {
        let mut until = self.standing.paused_until.unwrap_or(now);
        until = until.max(self.breaker.open_until(now).unwrap_or(now));
        if let Some(interval) = self.cap_interval() {
            until = until.max(self.cap.opens(CAP_SLACK - interval));
        }
        if self.standing.recovering_since.is_some() {
            until = until.max(self.recovery.opens(RECOVERY_SLACK));
        }
        if until > now { Err(Hold::Until(until)) } else { Ok(()) }
    }

    /// The oldest message that may go: in order, or what is ready first.
    fn pick(&mut self, now: Instant) -> Result<Pick, Hold> {
        self.shelf.wake(now);
        let (message, retry) = if self.rules.ordered {
            match self.shelf.oldest() {
                Some(head) if head.due > now => return Err(Hold::Until(head.due)),
                Some(head) => (head.message, head.is_retry()),
                None => return Err(Hold::Told),
            }
        } else {
            let none = || self.shelf.next_due().map_or(Hold::Told, Hold::Until);
            self.shelf.first_ready().ok_or_else(none)?
        };
        if !retry {
            return Ok(Pick { message, retry, paid: None });
        }
        if let Some(paid) = self.budget.ask(now, Charge::Retry) {
            return Ok(Pick { message, retry, paid: Some(paid) });
        }
        let next = self.retried_at + TRICKLE;
        if next <= now {
            return Ok(Pick { message, retry, paid: None });
        }
        match self.shelf.first_fresh().filter(|_| !self.rules.ordered) {
            Some(message) => Ok(Pick { message, retry: false, paid: None }),
            None => Err(Hold::Until(next)),
        }
    }

    /// An attempt is launched: what it uses up.
    fn pay(&mut self, now: Instant, pick: &Pick) {
        if pick.retry {
            self.retried_at = now;
        } else {
            self.budget.on_first(now);
        }
        if let Some(interval) = self.cap_interval() {
            self.cap.pass(now, interval);
        }
        if let Some(rate) = self.recovery_rate(now) {
            self.recovery.pass(now, recovery::interval(rate));
        }
    }

    fn tell_budget(&mut self, now: Instant, flight: &Flight, outcome: &Outcome) {
        match (outcome.verdict, flight.paid) {
            (Verdict::Ok, None) if !flight.retry => self.budget.on_settled(now, Spent::FirstTry),
            (Verdict::Ok, paid) => {
                self.budget.on_settled(now, Spent::AfterRetry(paid.unwrap_or(Paid::FREE)));
            }
            (Verdict::Cancelled, Some(paid)) => self.budget.refund(now, paid),
            (verdict, _) if verdict.is_retryable() => self.budget.on_settled(now, Spent::Failed),
            _ => {}
        }
    }

    /// What the answer says about the endpoint; `Some` if that disables it.
    fn learn(
        &mut self,
        now: Instant,
        flight: &Flight,
        judgement: &Judgement,
        entropy: &mut impl Entropy,
    ) -> Option<Disabled> {
        let Judgement { outcome, report, gone, .. } = *judgement;
        let tried = flight.era == self.era && flight.ticket.is_probe();
        self.tell_breaker(now, flight, report, entropy);
        match outcome.verdict {
            Verdict::Cancelled => return None,
            Verdict::Ok => self.standing.failing_since = None,
            // A status that the endpoint lists is its own way to refuse a message.
            Verdict::Permanent if report == Report::Success => {}
            _ => _ = self.standing.failing_since.get_or_insert(now),
        }
        if self.standing.paused_until.is_some_and(|until| until <= now) {
            self.standing.paused_until = None;
        }
        if let Some(hint) = outcome.hint.and_then(Hint::span) {
            let until = now + self.rules.pause(hint);
            self.standing.paused_until = self.standing.paused_until.max(Some(until));
        }
        let disabled = self.reason_to_disable(now, gone);
        if let Some(reason) = disabled {
            self.disable(reason);
        }
        self.on_trial &= !tried;
        disabled
    }

    fn reason_to_disable(&self, now: Instant, gone: bool) -> Option<Disabled> {
        if self.standing.disabled.is_some() {
            return None;
        }
        let failing = |since| now - since >= self.rules.disable_after;
        if gone {
            Some(Disabled::Gone)
        } else {
            self.standing.failing_since.is_some_and(failing).then_some(Disabled::Failing)
        }
    }

    /// A throttled probe is a bad one: a breaker that hears nothing of it would send the next at once.
    fn tell_breaker(
        &mut self,
        now: Instant,
        flight: &Flight,
        report: Report,
        entropy: &mut impl Entropy,
    ) {
        if flight.era != self.era {
            return;
        }
        let report = match report {
            Report::Throttled if flight.ticket.is_probe() => Report::Failure,
            report => report,
        };
        match self.breaker.report(now, flight.ticket, report, entropy) {
            Some(Transition::Opened { until, .. }) => {
                let open_time = self.breaker.open_time();
                self.standing.open = Some(Opened { until, open_time });
                self.standing.recovering_since = None;
            }
            Some(Transition::Closed { .. }) => {
                self.standing.open = None;
                self.standing.recovering_since = Some(now);
            }
            None => {}
        }
    }

    fn settle_parcel(
        &mut self,
        now: Instant,
        mut parcel: Parcel,
        launch: &Launch,
        (answer, judgement): (Answer, Judgement),
        entropy: &mut impl Entropy,
    ) -> Settled {
        let outcome = judgement.for_call();
        let (times, judged) = ((launch.at, now), (&outcome, judgement.ending));
        let fate = lifecycle::settle(&mut parcel, &self.rules.policy, times, judged, entropy);
        let delivery = parcel.to_delivery(self.id, self.application);
        let delivery = match fate {
            Fate::Waiting => delivery,
            Fate::Delivered => Delivery { state: DeliveryState::Delivered, ..delivery },
            Fate::Dead(ending) => {
                Delivery { state: DeliveryState::Dead, ending: Some(ending), ..delivery }
            }
        };
        if fate == Fate::Waiting {
            self.shelf.put(now, parcel);
        }
        let next = (fate == Fate::Waiting).then_some(parcel.due);
        let attempt = attempt_of(launch, answer, &judgement, next);
        let dead = matches!(fate, Fate::Dead(_));
        Settled {
            settlement: Settlement {
                delivery: Some(delivery),
                attempt: Some(attempt),
                ..Settlement::default()
            },
            news: dead.then_some(News::DeliveryDead(self.id, parcel.message)),
        }
    }

    /// A recovery is over when there is nothing left to catch up with, after its first stretch: before
    /// that, what is due in a moment may not be ready yet.
    fn end_recovery(&mut self, now: Instant) {
        let Some(since) = self.standing.recovering_since else { return };
        let due = self.shelf.next_due().is_some_and(|due| due <= now);
        let backlog = self.shelf.ready() > 0 || due;
        if !backlog && now - since >= self.rules.pace.recovery.over {
            self.standing.recovering_since = None;
        }
    }

    fn replace_breaker(&mut self, breaker: Breaker) {
        self.breaker = breaker;
        self.era = self.era.wrapping_add(1);
    }

    /// Attempts a second that are allowed now, rounded down, but not to none.
    fn rate(&self, now: Instant) -> Option<u64> {
        let cap = self.rules.pace.rate.map(|rate| u64::from(rate.get()));
        let recovery = self.recovery_rate(now).map(|rate| (rate / MICROS).max(1));
        match (cap, recovery) {
            (Some(cap), Some(recovery)) => Some(cap.min(recovery)),
            (cap, recovery) => cap.or(recovery),
        }
    }

    fn cap_interval(&self) -> Option<Span> {
        let rate = u64::from(self.rules.pace.rate?.get());
        Some(recovery::interval(rate * MICROS))
    }

    fn recovery_rate(&self, now: Instant) -> Option<u64> {
        let since = self.standing.recovering_since?;
        Some(recovery::rate(&self.rules.pace.recovery, now - since))
    }
}

fn breaker_of(rules: &Rules, open: Option<Opened>) -> Breaker {
    match open {
        Some(Opened { until, open_time }) => Breaker::reopened(rules.breaker, until, open_time),
        None => Breaker::new(rules.breaker),
    }
}

fn attempt_of(
    launch: &Launch,
    answer: Answer,
    judgement: &Judgement,
    next: Option<Instant>,
) -> Attempt {
    let mut reply = answer.reply;
    reply.truncate(REPLY_LIMIT);
    Attempt {
        message: launch.message,
        endpoint: launch.endpoint,
        number: launch.number,
        started_at: launch.at,
        latency: answer.latency,
        status: answer.result.ok(),
        failure: answer.result.err(),
        detail: answer.detail,
        reply,
        verdict: judgement.outcome.verdict,
        hint: answer.hint.and_then(Hint::span),
        next,
    }
}
