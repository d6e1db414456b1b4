//! One lane: an endpoint, its open deliveries, and what holds them back.

use std::collections::BTreeMap;

use stagger::budget::Paid;
use stagger::{Entropy, Hint, Instant, Verdict};

use super::health::{Health, Pass};
use super::judge::{Judgement, judge};
use super::lifecycle::{self, Fate};
use super::parcel::{Parcel, Place};
use super::rules::Rules;
use super::shelf::Shelf;
use super::tempo::{self, Tempo};
use super::{LaneView, Launch, News, Settled};
use crate::model::{
    Answer, ApplicationId, Attempt, Delivery, DeliveryState, Disabled, Ending, Endpoint,
    EndpointId, MessageId, REPLY_LIMIT, Standing,
};
use crate::store::Settlement;

/// An endpoint's lane.
#[derive(Debug)]
pub(super) struct Lane {
    id: EndpointId,
    application: ApplicationId,
    rules: Rules,
    health: Health,
    tempo: Tempo,
    shelf: Shelf,
    flights: BTreeMap<u64, Flight>,
    /// Whether it launches nothing, because it is being given up.
    resting: bool,
}

/// An attempt under way, with the permits that it holds.
#[derive(Clone, Copy, Debug)]
struct Flight {
    message: MessageId,
    pass: Pass,
    is_retry: bool,
    paid: Option<Paid>,
    /// Its delivery was taken out.
    is_orphan: bool,
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
    is_retry: bool,
    paid: Option<Paid>,
}

impl Lane {
    pub(super) fn new(endpoint: &Endpoint, standing: Standing) -> Self {
        let rules = Rules::of(endpoint);
        Self {
            id: endpoint.id,
            application: endpoint.application,
            health: Health::new(&rules, standing),
            tempo: Tempo::new(&rules),
            rules,
            shelf: Shelf::default(),
            flights: BTreeMap::new(),
            resting: false,
        }
    }

    /// The lane of an endpoint whose attempts were made elsewhere until now.
    pub(super) fn adopted(now: Instant, endpoint: &Endpoint, standing: Standing) -> Self {
        let mut lane = Self::new(endpoint, standing);
        lane.tempo.adopt(now, &lane.rules, standing.recovering_since);
        lane
    }

    /// Takes changed settings.
    pub(super) fn change(&mut self, endpoint: &Endpoint) {
        self.rules = Rules::of(endpoint);
        self.health.change(&self.rules);
        self.tempo.change(&self.rules);
    }

    pub(super) const fn application(&self) -> ApplicationId {
        self.application
    }

    /// Open deliveries.
    pub(super) fn len(&self) -> usize {
        self.shelf.len()
    }

    /// The attempts under way, by number.
    pub(super) fn flights(&self) -> impl ExactSizeIterator<Item = u64> {
        self.flights.keys().copied()
    }

    /// Launches nothing any more.
    pub(super) const fn rest(&mut self) {
        self.resting = true;
    }

    /// Launches no retry before `until`; first attempts go on.
    pub(super) fn hold_retries(&mut self, until: Instant) {
        self.tempo.hold_retries(until);
    }

    pub(super) fn add(&mut self, now: Instant, delivery: &Delivery) {
        if delivery.state.is_open() {
            self.shelf.put(now, Parcel::of(delivery));
        }
    }

    pub(super) fn cancel(&mut self, now: Instant, message: MessageId) -> Option<Delivery> {
        let parcel = self.shelf.take(message)?;
        if parcel.place == Place::UnderWay {
            let mut living = self.flights.values_mut().filter(|flight| !flight.is_orphan);
            if let Some(flight) = living.find(|flight| flight.message == message) {
                flight.is_orphan = true;
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
        let recovering = self.health.standing().recovering_since;
        self.check_room()?;
        let opens = self.health.opens(now).max(self.tempo.opens(&self.rules, recovering));
        if opens > now {
            return Err(Hold::Until(opens));
        }
        let Pick { message, is_retry, paid } = self.pick(now)?;
        let pass = self.health.admit(now).map_err(|until| {
            self.tempo.refund(now, paid);
            Hold::Until(until)
        })?;
        self.tempo.launched(now, &self.rules, recovering, is_retry);
        let parcel = self.shelf.launch(message).ok_or(Hold::Told)?;
        self.flights.insert(serial, Flight { message, pass, is_retry, paid, is_orphan: false });
        Ok(Launch {
            message,
            endpoint: self.id,
            application: self.application,
            number: parcel.attempts.saturating_add(1),
            retry: is_retry,
            probe: pass.is_probe(),
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
        let before = self.health.standing();
        let judgement = judge(&self.rules.permanent, &answer);
        let told = (&judgement.outcome, answer.written);
        self.tempo.settled(now, told, (flight.is_retry, flight.paid));
        let backlog = self.shelf.len() > usize::from(!flight.is_orphan);
        let told = (&flight.pass, &judgement);
        let disabled = self.health.learn(now, &self.rules, told, backlog, entropy);
        let parcel = if flight.is_orphan { None } else { self.shelf.take(flight.message) };
        let (settlement, dead) = match parcel {
            Some(parcel) if judgement.outcome.verdict == Verdict::Cancelled => {
                self.shelf.put(now, parcel);
                (Settlement::default(), None)
            }
            Some(parcel) => self.settle_parcel(now, parcel, launch, (answer, judgement), entropy),
            None => (Settlement::default(), None),
        };
        if !self.shelf.has_ready(now) {
            self.health.end_recovery(now, &self.rules);
        }
        let standing = self.health.standing();
        let standing = (standing != before).then_some((self.id, standing));
        // Of two pieces of news, that of the endpoint is the greater one.
        let news = disabled.map(|why| News::EndpointDisabled(self.id, why)).or(dead);
        let something = settlement.delivery.is_some() || standing.is_some();
        something.then_some(Settled { settlement: Settlement { standing, ..settlement }, news })
    }

    pub(super) fn enable(&mut self, now: Instant) -> Standing {
        self.health.enable(now, &self.rules);
        self.health.standing()
    }

    pub(super) fn disable(&mut self, reason: Disabled) -> Standing {
        self.health.disable(&self.rules, reason);
        self.health.standing()
    }

    pub(super) fn recover(&mut self, now: Instant) -> Standing {
        self.health.recover(now);
        self.health.standing()
    }

    pub(super) fn view(&self, now: Instant) -> LaneView {
        let standing = self.health.standing();
        LaneView {
            standing,
            breaker: self.health.breaker(now),
            next_probe: self.health.next_probe(now),
            ready: self.shelf.ready(),
            waiting: self.shelf.waiting(),
            in_flight: self.flights.len(),
            rate: tempo::rate(now, &self.rules, standing.recovering_since),
        }
    }

    fn check_room(&self) -> Result<(), Hold> {
        let full = self.flights.len() >= self.rules.most_at_once();
        let disabled = self.health.standing().disabled.is_some();
        let held = self.resting || full || disabled || self.shelf.len() == 0 || self.is_probed();
        if held { Err(Hold::Told) } else { Ok(()) }
    }

    /// Whether all probes are under way, those counted that were sent before the breaker was changed:
    /// neither new settings nor enabling again sends a further one.
    fn is_probed(&self) -> bool {
        let probes = || self.flights.values().filter(|flight| flight.pass.is_probe()).count();
        // OK because a plan has at most 100 probes.
        self.health.standing().open.is_some() && probes() >= self.rules.breaker.probes() as usize
    }

    /// The oldest message that may go: of all where order is asked for, else of those that are ready.
    fn pick(&mut self, now: Instant) -> Result<Pick, Hold> {
        self.shelf.wake(now);
        let (message, is_retry) = if self.rules.ordered {
            match self.shelf.oldest() {
                Some(head) if head.due > now => return Err(Hold::Until(head.due)),
                Some(head) => (head.message, head.is_retry()),
                None => return Err(Hold::Told),
            }
        } else {
            let none = || self.shelf.next_due().map_or(Hold::Told, Hold::Until);
            self.shelf.first_ready().ok_or_else(none)?
        };
        if !is_retry {
            return Ok(Pick { message, is_retry, paid: None });
        }
        // What a refusing budget holds back is retries: first attempts go on, unless order forbids it.
        let fresh = self.shelf.first_fresh().filter(|_| !self.rules.ordered);
        match (self.tempo.ask(now), fresh) {
            (Ok(paid), _) => Ok(Pick { message, is_retry, paid }),
            (Err(_), Some(message)) => Ok(Pick { message, is_retry: false, paid: None }),
            (Err(until), None) => Err(Hold::Until(until)),
        }
    }

    /// What becomes of a delivery, and the news if it is dead.
    fn settle_parcel(
        &mut self,
        now: Instant,
        mut parcel: Parcel,
        launch: &Launch,
        (answer, judgement): (Answer, Judgement),
        entropy: &mut impl Entropy,
    ) -> (Settlement, Option<News>) {
        let outcome = judgement.for_call();
        let (times, judged) = ((launch.at, now), (&outcome, judgement.ending));
        let fate = lifecycle::settle(&mut parcel, &self.rules, times, judged, entropy);
        let open = parcel.to_delivery(self.id, self.application);
        let (delivery, next, news) = match fate {
            Fate::Waiting => {
                self.shelf.put(now, parcel);
                (open, Some(parcel.due), None)
            }
            Fate::Delivered => {
                (Delivery { state: DeliveryState::Delivered, call: None, ..open }, None, None)
            }
            Fate::Dead(ending) => {
                let ending = Some(ending);
                let news = News::DeliveryDead(self.id, parcel.message);
                (Delivery { state: DeliveryState::Dead, ending, ..open }, None, Some(news))
            }
        };
        let attempt = attempt_of(launch, answer, &judgement, next);
        let (delivery, attempt) = (Some(delivery), Some(attempt));
        (Settlement { delivery, attempt, ..Settlement::default() }, news)
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
