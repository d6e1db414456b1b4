//! A dispatcher, its store and its receivers, run by a clock that is only a number.
//!
//! Every effect is an event of its own: a launch, an answer, a durable write. A crash may fall
//! between any two of them, and discards everything that is not durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use stagger_core::{Entropy, Instant, Span};
use stagger_scheduler::model::{
    ApplicationId, AttemptAnswer, AttemptFailure, Delivery, DeliveryState, Disabled, Endpoint,
    EndpointId, EndpointState, MessageId,
};
use stagger_scheduler::{Launch, NextLaunch, QueueChange, Scheduler};
use stagger_testkit::Mix;

use crate::fixture::{at, message, slots};
use crate::receiver::{Behaviour, Durable, PendingWrite};
use crate::witness::{Witness, obeyed};

/// An endpoint and its server.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) endpoint: Endpoint,
    pub(crate) behaviour: Behaviour,
    /// The most attempts in a round under any of the settings that it has had.
    pub(crate) most: u32,
}

#[derive(Debug)]
enum Event {
    Answer(Launch, AttemptAnswer),
    Commit,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) chance: Mix,
    pub(crate) now: Instant,
    pub(crate) sites: BTreeMap<EndpointId, Site>,
    pub(crate) applications: BTreeMap<ApplicationId, u32>,
    pub(crate) durable: Durable,
    pub(crate) witness: Witness,
    pub(crate) crashes: u32,
    pub(crate) attempts: u64,
    total: u32,
    scheduler: Scheduler,
    events: BTreeMap<(Instant, u64), Event>,
    count: u64,
    wake: Option<Instant>,
    writes: VecDeque<PendingWrite>,
    messages: u128,
}

impl World {
    pub(crate) fn new(seed: u64, total: u32) -> Self {
        Self {
            chance: Mix::new(seed),
            now: at(0),
            sites: BTreeMap::new(),
            applications: BTreeMap::new(),
            durable: Durable::default(),
            witness: Witness::default(),
            crashes: 0,
            attempts: 0,
            total,
            scheduler: Scheduler::new(slots(total)),
            events: BTreeMap::new(),
            count: 0,
            wake: None,
            writes: VecDeque::new(),
            messages: 0,
        }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.chance.next_u64() % n
    }

    pub(crate) fn put_application(&mut self, id: ApplicationId, most: u32) {
        self.applications.insert(id, most);
        self.scheduler.put_application(id, slots(most));
        self.pump();
    }

    pub(crate) fn put_endpoint(&mut self, endpoint: Endpoint) {
        let id = endpoint.id;
        let new = endpoint.policy.limits().max_attempts().unwrap_or(u32::MAX);
        let site = self.sites.remove(&id);
        let (behaviour, most) =
            site.map_or((Behaviour::Well, new), |site| (site.behaviour, site.most.max(new)));
        self.scheduler.put_endpoint(self.now, &endpoint, None);
        self.sites.insert(id, Site { endpoint, behaviour, most });
        self.witness.forget_rate(id);
        self.pump();
    }

    pub(crate) fn remove_endpoint(&mut self, id: EndpointId) {
        self.sites.remove(&id);
        self.durable.delete_endpoint(id);
        self.witness.open.retain(|(endpoint, _), _| *endpoint != id);
        self.witness.endpoint_states.remove(&id);
        self.scheduler.remove_endpoint(id);
        self.pump();
    }

    /// Accepts a message: durable first, and scheduled afterwards, unless a crash comes first.
    pub(crate) fn accept(&mut self, endpoint: EndpointId) {
        self.messages += 1;
        let application = self.sites[&endpoint].endpoint.application;
        let delivery = Delivery::new(message(self.messages), endpoint, application, self.now);
        self.durable.accept(delivery);
        if !self.may_crash() {
            self.add(&delivery);
        }
    }

    pub(crate) fn replay(&mut self, endpoint: EndpointId) {
        let replayed = self.durable.replay(endpoint, self.now);
        if self.may_crash() {
            return;
        }
        let endpoint_state = self.scheduler.recover(self.now, endpoint);
        self.learn(endpoint, endpoint_state);
        for delivery in replayed {
            self.add(&delivery);
        }
    }

    pub(crate) fn cancel(&mut self, endpoint: EndpointId, message: MessageId) {
        let delivery = self.scheduler.cancel(self.now, message, endpoint);
        let known = self.witness.open.contains_key(&(endpoint, message));
        assert_eq!(delivery.is_some(), known);
        self.witness.take_out(endpoint, message);
        if delivery.is_some() {
            self.write(QueueChange { delivery, ..QueueChange::default() }, None);
        }
        self.pump();
    }

    pub(crate) fn enable(&mut self, endpoint: EndpointId) {
        let was_disabled = self.witness.endpoint_state(endpoint).disabled.is_some();
        let endpoint_state = self.scheduler.enable(self.now, endpoint);
        // An endpoint that is enabled already is probed: that ends its pause.
        let ended = (!was_disabled).then(|| self.witness.hint_ends.remove(&endpoint)).flatten();
        let ended = ended.map(|_| (endpoint, Instant::ORIGIN));
        self.learn_with(endpoint, endpoint_state, ended);
        if endpoint_state.is_some_and(|state| state.open.is_some()) {
            self.witness.first_may_go(endpoint, self.now);
        }
        self.pump();
    }

    pub(crate) fn disable(&mut self, endpoint: EndpointId) {
        let endpoint_state = self.scheduler.disable(self.now, endpoint, Disabled::ByHand);
        self.learn(endpoint, endpoint_state);
        self.pump();
    }

    /// The next event, if there is one up to `until`; else the time is then `until`.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        let Some(next) = event.into_iter().chain(self.wake).min().filter(|next| *next <= until)
        else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        if event == Some(next) {
            match self.events.pop_first().expect("looked at above").1 {
                Event::Answer(launch, answer) => self.settle(launch, answer),
                Event::Commit => self.commit(),
            }
        }
        self.pump();
        self.check();
        true
    }

    /// Everything that is not durable is gone.
    pub(crate) fn crash(&mut self) {
        self.crashes += 1;
        self.events.clear();
        self.writes.clear();
        self.now = self.now + self.chance.draw(Span::ZERO, Span::from_secs(30));
        self.scheduler = Scheduler::new(slots(self.total));
        for (id, most) in &self.applications {
            self.scheduler.put_application(*id, slots(*most));
        }
        for (id, site) in &self.sites {
            let endpoint_state = self.durable.endpoint_states.get(id).copied();
            self.scheduler.put_endpoint(self.now, &site.endpoint, endpoint_state);
        }
        let open: Vec<Delivery> = self.durable.open().copied().collect();
        self.witness = Witness {
            endpoint_states: self.durable.endpoint_states.clone(),
            hint_ends: self.durable.hint_ends.clone(),
            ..Witness::default()
        };
        for delivery in open {
            self.add(&delivery);
        }
        self.pump();
    }

    /// Whether nothing is left to happen by itself.
    pub(crate) fn is_quiet(&self) -> bool {
        self.events.is_empty() && self.wake.is_none()
    }

    pub(crate) const fn len(&self) -> usize {
        self.scheduler.len()
    }

    /// Crashes now and then.
    fn may_crash(&mut self) -> bool {
        let crashes = self.below(40) == 0;
        if crashes {
            self.crash();
        }
        crashes
    }

    fn add(&mut self, delivery: &Delivery) {
        self.scheduler.add(self.now, delivery);
        self.witness.open.insert((delivery.endpoint, delivery.message), delivery.due);
        self.pump();
    }

    /// Launches all that can be launched.
    fn pump(&mut self) {
        self.wake = loop {
            match self.scheduler.next(self.now, &mut self.chance) {
                NextLaunch::Send(launch) => self.launch(launch),
                NextLaunch::Until(until) => {
                    assert!(until > self.now);
                    break Some(until);
                }
                NextLaunch::Idle => break None,
            }
        };
    }

    fn launch(&mut self, launch: Launch) {
        self.attempts += 1;
        let site = &self.sites[&launch.endpoint];
        self.witness.launched(launch, &site.endpoint);
        let theirs = |other: &&Launch| other.application == launch.application;
        let of_application = self.witness.in_flight.iter().filter(theirs).count();
        assert!(of_application <= self.applications[&launch.application] as usize);
        assert!(self.witness.in_flight.len() <= self.total as usize);
        let answer = site.behaviour.answer(&mut self.chance, site.endpoint.timeout);
        self.at(self.now + answer.latency, Event::Answer(launch, answer));
    }

    fn settle(&mut self, launch: Launch, answer: AttemptAnswer) {
        let alive = self.witness.returned(&launch);
        let site = self.sites.get(&launch.endpoint);
        let failed = !matches!(answer.result, Ok(200..=299));
        let stopped = matches!(answer.result, Err(AttemptFailure::Stopped | AttemptFailure::Local));
        let spared = site.and_then(|site| obeyed(&site.endpoint, answer.hint));
        let hint_end = spared
            .filter(|_| failed && !stopped)
            .map(|spared| (launch.endpoint, self.now + spared));
        if let Some((endpoint, end)) = hint_end {
            let known = self.witness.hint_ends.entry(endpoint).or_default();
            *known = end.max(*known);
        }
        let (ok, gone) = (!failed, answer.result == Ok(410));
        let Some(settled) = self.scheduler.settle(self.now, launch, answer, &mut self.chance)
        else {
            if alive && site_is_there(&self.sites, launch.endpoint) {
                assert!(stopped, "only what was stopped comes to nothing");
                let due = self.witness.open[&(launch.endpoint, launch.message)];
                self.witness.settled(&launch, Some(due));
            }
            return;
        };
        if let Some((endpoint, endpoint_state)) = settled.change.endpoint_state {
            self.witness.endpoint_states.insert(endpoint, endpoint_state);
        }
        if gone {
            assert!(self.witness.endpoint_state(launch.endpoint).disabled.is_some());
        }
        match &settled.change.delivery {
            Some(delivery) => {
                assert!(alive, "an answer that nobody waits for changes no delivery");
                assert_eq!(ok, delivery.state == DeliveryState::Delivered);
                let open = delivery.state.is_open();
                let end = hint_end.map_or(self.now, |(_, end)| end);
                assert!(!open || delivery.due >= end, "not before a hint's end");
                self.witness.settled(&launch, open.then_some(delivery.due));
            }
            None => {
                assert!(!alive || stopped, "an answer is not lost");
                if alive {
                    // It came to nothing, and a recovery has ended meanwhile.
                    let due = self.witness.open[&(launch.endpoint, launch.message)];
                    self.witness.settled(&launch, Some(due));
                }
            }
        }
        self.write(settled.change, hint_end);
    }

    fn learn(&mut self, endpoint: EndpointId, endpoint_state: Option<EndpointState>) {
        self.learn_with(endpoint, endpoint_state, None);
    }

    fn learn_with(
        &mut self,
        endpoint: EndpointId,
        endpoint_state: Option<EndpointState>,
        hint_end: Option<(EndpointId, Instant)>,
    ) {
        let Some(endpoint_state) = endpoint_state else { return };
        if self.witness.endpoint_states.insert(endpoint, endpoint_state).unwrap_or_default()
            != endpoint_state
        {
            let endpoint_state = Some((endpoint, endpoint_state));
            self.write(QueueChange { endpoint_state, ..QueueChange::default() }, hint_end);
        }
    }

    fn write(&mut self, change: QueueChange, hint_end: Option<(EndpointId, Instant)>) {
        self.writes.push_back(PendingWrite { change, hint_end });
        let latency = self.chance.draw(Span::ZERO, Span::from_millis(20));
        self.at(self.now + latency, Event::Commit);
    }

    /// Makes some of the waiting writes durable, in order.
    fn commit(&mut self) {
        let Some(write) = self.writes.pop_front() else { return };
        let delivery = write.change.delivery.as_ref().map(|delivery| delivery.endpoint);
        let endpoint_state = write.change.endpoint_state.map(|(endpoint, _)| endpoint);
        let endpoint = delivery.or(endpoint_state).expect("it is about an endpoint");
        if let Some(site) = self.sites.get(&endpoint) {
            self.durable.apply(write, site.most);
        }
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    /// The invariants that hold at every moment.
    fn check(&self) {
        assert_eq!(self.scheduler.len(), self.witness.open.len(), "nothing is lost");
        assert_eq!(self.scheduler.in_flight() as usize, self.witness.in_flight.len());
        for id in self.sites.keys() {
            let view = self.scheduler.view(self.now, *id).expect("it was put");
            assert_eq!(
                view.endpoint_state,
                self.witness.endpoint_state(*id),
                "each change was told"
            );
        }
    }

    /// Applications of all sites that are there.
    pub(crate) fn endpoints(&self) -> Vec<EndpointId> {
        self.sites.keys().copied().collect()
    }

    /// Deliveries that are open both in the store and in the scheduler.
    pub(crate) fn open(&self) -> BTreeSet<(EndpointId, MessageId)> {
        self.witness.open.keys().copied().collect()
    }
}

fn site_is_there(sites: &BTreeMap<EndpointId, Site>, id: EndpointId) -> bool {
    sites.contains_key(&id)
}
