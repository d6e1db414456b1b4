//! All endpoint queues of a node, and the fair choice among them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use stagger_core::{Entropy, Instant, Span};

use super::endpoint_queue::{Blocked, EndpointQueue};
use super::fair_queue::{FairQueue, Timers};
use super::{Launch, NextLaunch, QueueChange, QueueView, SettledAttempt};
use crate::model::{
    ApplicationId, AttemptAnswer, Delivery, Disabled, Endpoint, EndpointId, EndpointState,
    MessageId,
};

/// The queues of all endpoints.
///
/// Applications take turns, and so do the queues of an application. Those without a slot go first,
/// and a quarter of the slots is kept for them: a backlog or an endpoint that hangs fills the rest
/// at most.
#[derive(Debug)]
pub struct Scheduler {
    /// Boxed, because a tree moves its entries, and a queue is large.
    queues: BTreeMap<EndpointId, Box<EndpointQueue>>,
    /// For each application, its slots and the queues that wait for one.
    application_queues: BTreeMap<ApplicationId, FairQueue<EndpointId>>,
    /// All slots, and the applications with a queue that can have one.
    applications: FairQueue<ApplicationId>,
    timers: Timers<EndpointId>,
    /// Attempts in flight whose queues were removed.
    orphaned: BTreeMap<u64, ApplicationId>,
    slots: NonZeroU32,
    serial: u64,
    open: usize,
    /// Open deliveries of each application that has some.
    open_of: BTreeMap<ApplicationId, usize>,
    /// The applications whose number was changed since it was last asked for.
    changed: BTreeSet<ApplicationId>,
}

impl Scheduler {
    /// No queues yet; at most `slots` attempts are in flight in all.
    #[must_use]
    pub const fn new(slots: NonZeroU32) -> Self {
        Self {
            queues: BTreeMap::new(),
            application_queues: BTreeMap::new(),
            applications: FairQueue::new(slots),
            timers: Timers::new(),
            orphaned: BTreeMap::new(),
            slots,
            serial: 0,
            open: 0,
            open_of: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Adds or changes an application: the most attempts that it may have in flight, at most three
    /// quarters of all slots. An application that was not added may have these.
    pub fn put_application(&mut self, id: ApplicationId, slots: NonZeroU32) {
        // Of slots that it cannot reach, those that it keeps for its own endpoints would be a part.
        let slots = slots.min(FairQueue::<ApplicationId>::within_reach(self.slots));
        self.application_queue(id).set_slots(slots);
        self.enqueue_application(id);
    }

    /// Removes an application and its endpoints. Attempts in flight keep their slots until they
    /// end.
    pub fn remove_application(&mut self, id: ApplicationId) {
        let theirs = self.queues.iter().filter(|(_, queue)| queue.application() == id);
        let endpoints: Vec<EndpointId> = theirs.map(|(endpoint, _)| *endpoint).collect();
        for endpoint in endpoints {
            self.remove_endpoint(endpoint);
        }
        self.application_queues.remove(&id);
        self.applications.leave(id);
    }

    /// Adds or changes an endpoint; `endpoint_state` is its stored state, at a start or when the
    /// endpoint is taken over from another node.
    ///
    /// Changed settings apply from the next launch and the next outcome on. The state of a known
    /// endpoint stays as it is. An endpoint with a stored state has had attempts that this node
    /// does not know: its cap on the rate, and its recovery, begin as if the last of them had just
    /// used them up.
    pub fn put_endpoint(
        &mut self,
        now: Instant,
        endpoint: &Endpoint,
        endpoint_state: Option<EndpointState>,
    ) {
        let id = endpoint.id;
        if self.with_queue(id, |queue| queue.change(endpoint)).is_none() {
            let new = || EndpointQueue::new(endpoint, EndpointState::default());
            let queue = endpoint_state
                .map_or_else(new, |known| EndpointQueue::taken_over(now, endpoint, known));
            self.queues.insert(id, Box::new(queue));
        }
    }

    /// Launches no more attempts of an endpoint, because another node is to lead it. Attempts in
    /// flight continue until the endpoint is removed.
    pub fn drain(&mut self, id: EndpointId) {
        self.with_queue(id, EndpointQueue::drain);
    }

    /// Takes an attempt back that was to be launched at `now` and was not made, because a budget that others
    /// share refused it. Retries of its endpoint wait until `until`; first attempts go on.
    pub fn put_off(
        &mut self,
        now: Instant,
        launch: Launch,
        until: Instant,
        entropy: &mut impl Entropy,
    ) {
        self.with_queue(launch.endpoint, |queue| queue.hold_retries(until));
        // It counts as not made, so that there is nothing to store.
        self.settle(now, launch, AttemptAnswer::not_made(), entropy);
    }

    /// Whether no attempt of an endpoint is in flight; also if the endpoint is not known.
    #[must_use]
    pub fn is_idle(&self, id: EndpointId) -> bool {
        self.queues.get(&id).is_none_or(|queue| queue.in_flight().len() == 0)
    }

    /// All endpoints that are there.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointId> {
        self.queues.keys().copied()
    }

    /// Forgets an endpoint and its open deliveries.
    pub fn remove_endpoint(&mut self, id: EndpointId) {
        let Some(queue) = self.queues.remove(&id) else { return };
        self.count(queue.application(), queue.len(), 0);
        self.orphaned.extend(queue.in_flight().map(|serial| (serial, queue.application())));
        self.timers.clear(id);
        self.application_queue(queue.application()).leave(id);
        self.enqueue_application(queue.application());
    }

    /// Adds an open delivery: accepted, loaded, replayed or made due. A known delivery stays as it is,
    /// except that it becomes due earlier if it waits after as many attempts. A delivery that is not
    /// open, or whose endpoint is not known, is ignored.
    pub fn add(&mut self, now: Instant, delivery: &Delivery) {
        self.with_queue(delivery.endpoint, |queue| queue.add(now, delivery));
    }

    /// Removes an open delivery, and returns it as cancelled, to be stored; `None` if it is not
    /// known. An attempt in flight is not stopped, and its answer is ignored.
    pub fn cancel(
        &mut self,
        now: Instant,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<Delivery> {
        self.with_queue(endpoint, |queue| queue.cancel(now, message)).flatten()
    }

    /// Makes an open delivery due now and the next of its endpoint, also if its breaker is open or it has
    /// asked for a pause. Returns the changes to store; `None` if the delivery is not known. A disabled
    /// endpoint stays disabled, and its deliveries go on to wait.
    pub fn retry(
        &mut self,
        now: Instant,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<QueueChange> {
        self.with_queue(endpoint, |queue| queue.retry(now, message)).flatten()
    }

    /// Ends a pause of an endpoint. Lets its next attempt go as a probe if its breaker is open, and
    /// starts a recovery if it is closed. Returns the state to store, if the endpoint is known.
    pub fn probe(&mut self, now: Instant, id: EndpointId) -> Option<EndpointState> {
        self.with_queue(id, |queue| queue.probe(now))
    }

    /// The next decision at `now`. Call it again until it is not `Send`.
    pub fn next(&mut self, now: Instant, entropy: &mut impl Entropy) -> NextLaunch {
        let _ = entropy;
        while let Some(id) = self.timers.pop(now) {
            self.join(id);
        }
        while let Some(application) = self.applications.call() {
            let launch = self.launch(now, application);
            self.enqueue_application(application);
            if let Some(launch) = launch {
                return NextLaunch::Send(launch);
            }
        }
        self.timers.first().map_or(NextLaunch::Idle, NextLaunch::Until)
    }

    /// Settles a launched attempt; `None` if there is nothing to store: the attempt counts as not
    /// made, or its delivery was removed.
    pub fn settle(
        &mut self,
        now: Instant,
        launch: Launch,
        answer: AttemptAnswer,
        entropy: &mut impl Entropy,
    ) -> Option<SettledAttempt> {
        if let Some(application) = self.orphaned.remove(&launch.serial) {
            self.give_back(application);
            return None;
        }
        let (released, settled) = self.with_queue(launch.endpoint, |queue| {
            let before = queue.in_flight().len();
            let settled = queue.settle(now, &launch, answer, entropy);
            (queue.in_flight().len() < before, settled)
        })?;
        if released {
            self.give_back(launch.application);
        }
        settled
    }

    /// Enables an endpoint: one probe first, then the recovery. Returns the state to store, if the
    /// endpoint is known. An endpoint that is not disabled is probed now, if its breaker is open.
    ///
    /// The probe is sent immediately, with the delivery that is due first, unless the probe of an earlier enabling has failed: then when
    /// the breaker's open time, which grows with each failed probe, is over. An endpoint that was
    /// disabled for failing is disabled again when its probe fails.
    pub fn enable(&mut self, now: Instant, id: EndpointId) -> Option<EndpointState> {
        self.with_queue(id, |queue| queue.enable(now))
    }

    /// Disables an endpoint: its deliveries wait. Returns the state to store, if the endpoint is
    /// known.
    pub fn disable(
        &mut self,
        now: Instant,
        id: EndpointId,
        reason: Disabled,
    ) -> Option<EndpointState> {
        let _ = now;
        self.with_queue(id, |queue| queue.disable(reason))
    }

    /// Starts a recovery, so that a large replay is sent slowly. Returns the state to store, if the
    /// endpoint is known.
    pub fn recover(&mut self, now: Instant, id: EndpointId) -> Option<EndpointState> {
        self.with_queue(id, |queue| queue.recover(now))
    }

    /// Sets since when the operator knows that an endpoint fails. Returns the state to store, if the endpoint is known.
    pub fn set_alerted(&mut self, id: EndpointId, since: Option<Instant>) -> Option<EndpointState> {
        self.with_queue(id, |queue| queue.set_alerted(since))
    }

    /// The current state of an endpoint's queue.
    #[must_use]
    pub fn view(&self, now: Instant, id: EndpointId) -> Option<QueueView> {
        self.queues.get(&id).map(|queue| queue.view(now))
    }

    /// Open deliveries in all.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.open
    }

    /// The applications whose number of open deliveries was changed since the last call, with that number.
    pub fn take_changed(&mut self) -> Vec<(ApplicationId, usize)> {
        let open_of = |id| (id, self.open_of.get(&id).copied().unwrap_or_default());
        std::mem::take(&mut self.changed).into_iter().map(open_of).collect()
    }

    /// Whether there are no open deliveries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Attempts in flight in all.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.applications.taken()
    }

    /// Changes a queue, which then waits for a turn: its turn finds out whether it can launch.
    fn with_queue<T>(
        &mut self,
        id: EndpointId,
        change: impl FnOnce(&mut EndpointQueue) -> T,
    ) -> Option<T> {
        let queue = self.queues.get_mut(&id)?;
        let before = queue.len();
        let answer = change(queue);
        let (application, after) = (queue.application(), queue.len());
        self.count(application, before, after);
        self.join(id);
        Some(answer)
    }

    /// A queue of an application has another number of open deliveries.
    fn count(&mut self, application: ApplicationId, before: usize, after: usize) {
        if before == after {
            return;
        }
        self.open = self.open + after - before;
        let open = self.open_of.entry(application).or_default();
        *open = *open + after - before;
        if *open == 0 {
            self.open_of.remove(&application);
        }
        self.changed.insert(application);
    }

    /// Launches the next attempt of an application, if one of its queues can use its turn.
    fn launch(&mut self, now: Instant, application: ApplicationId) -> Option<Launch> {
        while let Some(id) = self.application_queue(application).call() {
            let Some(queue) = self.queues.get_mut(&id) else { continue };
            match queue.launch(now, self.serial) {
                Ok(launch) => {
                    self.serial += 1;
                    self.applications.take();
                    self.application_queue(application).take();
                    self.join(id);
                    return Some(launch);
                }
                // A timer for now or earlier would fire for ever.
                Err(Blocked::Until(at)) => self.timers.set(id, at.max(now + Span::from_nanos(1))),
                Err(Blocked::Told) => {}
            }
        }
        None
    }

    /// Adds a queue to those that wait for a turn, and clears its timer.
    fn join(&mut self, id: EndpointId) {
        let Some(queue) = self.queues.get(&id) else { return };
        let (application, holds_one) = (queue.application(), queue.in_flight().len() > 0);
        self.timers.clear(id);
        self.application_queue(application).join(id, holds_one);
        self.enqueue_application(application);
    }

    /// Adds an application to those that wait, while one of its queues can have a slot.
    fn enqueue_application(&mut self, id: ApplicationId) {
        match self.application_queues.get(&id) {
            Some(application_queue) if application_queue.has_turn() => {
                self.applications.join(id, application_queue.taken() > 0);
            }
            _ => self.applications.leave(id),
        }
    }

    fn give_back(&mut self, application: ApplicationId) {
        self.applications.give_back();
        if let Some(application_queue) = self.application_queues.get_mut(&application) {
            application_queue.give_back();
        }
        self.enqueue_application(application);
    }

    fn application_queue(&mut self, id: ApplicationId) -> &mut FairQueue<EndpointId> {
        let slots = FairQueue::<ApplicationId>::within_reach(self.slots);
        self.application_queues.entry(id).or_insert_with(|| FairQueue::new(slots))
    }
}
