//! The state of a node, as operators and load balancers see it, and its rate of attempts.
//!
//! First attempts and retries are counted apart: it shows whether retries stampede.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use stagger::breaker::StateKind;
use stagger::{Instant, Span};
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{DeliveryState, EndpointId};
use stagger_store::{ClusterHandle, DeliveryStore, NodeIdentity, Shards};

use super::attempt::PayloadCache;
use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::{FleetView, Leadership, NodeInfo};
use super::health::NodeHealth;
use super::scheduler_state::{Inbox, SchedulerState};
use crate::Error;
use crate::observe::Gauges;

/// Queues that are counted in one go: the scheduler makes no attempts meanwhile.
const QUEUES: usize = 256;

/// Reads the state of a node.
#[derive(Debug)]
pub(super) struct NodeStatus {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) directory: Arc<Directory>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) fleet: Arc<FleetView>,
    pub(super) payloads: Arc<PayloadCache>,
    pub(super) rates: Arc<AttemptCounter>,
    pub(super) health: Arc<NodeHealth>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
    pub(super) max_open: usize,
    pub(super) name: NodeIdentity,
}

impl NodeStatus {
    /// The state of an endpoint's queue, wherever it is.
    pub(super) async fn view(&self, id: EndpointId) -> Option<QueueView> {
        let now = self.clock.now();
        let here = self.inbox.ask(move |state| state.scheduler.view(now, id)).await.flatten();
        match here {
            Some(here) => Some(here),
            // While the store is away nothing is known of it.
            None => self.stored_view(id).await.ok().flatten(),
        }
    }

    /// The state of an endpoint that another node leads, as the store has it: only its leader knows
    /// the attempts in flight and the deliveries that are ready.
    async fn stored_view(&self, id: EndpointId) -> Result<Option<QueueView>, Error> {
        let Some(endpoint_state) = self.cluster.endpoint_state(id).await? else { return Ok(None) };
        let counts = self.store.counts(Some(id)).await?;
        let now = self.clock.now();
        let next_probe = endpoint_state.open.map(|opened| opened.until);
        let breaker = match next_probe {
            None => StateKind::Closed,
            Some(until) if until > now => StateKind::Open,
            Some(_) => StateKind::HalfOpen,
        };
        let count = |state| usize::try_from(counts.of(state)).unwrap_or(usize::MAX);
        let rate = self.directory.endpoint(id).and_then(|endpoint| endpoint.pace.rate);
        Ok(Some(QueueView {
            endpoint_state,
            breaker,
            next_probe,
            ready: count(DeliveryState::Pending),
            waiting: count(DeliveryState::Waiting),
            in_flight: 0,
            rate: rate.map(|rate| u64::from(rate.get())),
        }))
    }

    /// The nodes that work on the store, this one first.
    pub(super) fn nodes(&self) -> Vec<NodeInfo> {
        let lead = self.leadership.hold().lead();
        let this = NodeInfo {
            run: lead.fence.0,
            name: self.name.address.clone(),
            version: self.name.version.clone(),
            started_at: self.name.started_at,
            last_seen_at: self.clock.now(),
            shards: lead.shards.len(),
            draining: self.health.is_stopping(),
            is_this: true,
        };
        let others = self.fleet.others(lead.fence);
        std::iter::once(this).chain(others).collect()
    }

    /// The shards that this node leads.
    pub(super) fn led(&self) -> Shards {
        self.leadership.shards()
    }

    pub(super) fn attempt_rates(&self, endpoint: Option<EndpointId>) -> AttemptRates {
        self.rates.read(endpoint, self.clock.now())
    }

    pub(super) fn results(&self, endpoint: EndpointId) -> Vec<MinuteResults> {
        self.rates.results(endpoint, self.clock.now())
    }

    /// Whether messages can be accepted now.
    pub(super) async fn ready(&self) -> Result<(), Error> {
        self.health.check()?;
        drop(self.health.reserve(1, self.max_open)?);
        if !self.health.is_accept_failing() {
            return self.store.check().await;
        }
        // A full disk lets small writes pass.
        self.store.check_room().await?;
        self.health.set_accept_failing(None);
        Ok(())
    }

    /// Counts all queues. Runs when a recorder reads the gauges, a few times a minute.
    pub(super) async fn gauges(&self) -> Gauges {
        let now = self.clock.now();
        let endpoints = self.directory.all_endpoints();
        let mut gauges = Gauges::default();
        for some in endpoints.chunks(QUEUES) {
            let some = some.to_vec();
            let count = move |state: &mut SchedulerState| {
                for view in some.into_iter().filter_map(|id| state.scheduler.view(now, id)) {
                    gauges.ready += view.ready;
                    gauges.waiting += view.waiting;
                    gauges.in_flight += view.in_flight;
                    gauges.disabled += usize::from(view.endpoint_state.disabled.is_some());
                    gauges.count_breaker(view.breaker);
                }
                gauges
            };
            gauges = self.inbox.ask(count).await.unwrap_or_default();
        }
        let (unsettled, payload_bytes) = (self.health.unsettled(), self.payloads.bytes());
        let (members, shards) = (self.fleet.members().max(1), self.led().len());
        Gauges { unsettled, payload_bytes, members, shards, ..gauges }
    }
}

/// The length of the history: 5 minutes show the spread of usual first delays.
const SECONDS: u64 = 300;

/// The most endpoints with their own history, those with the latest traffic: 12 MB at most.
const MOST_ENDPOINTS: usize = 4096;

/// The attempts of the last 5 minutes by the second, of one endpoint or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptRates {
    /// Oldest first; seconds without attempts included.
    pub seconds: Vec<Second>,
}

/// The attempts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// The time at which it begins.
    pub at: Instant,
    /// First attempts.
    pub first: u32,
    /// Retries.
    pub retries: u32,
}

/// The length of the history of results: an hour shows when a failure has begun.
const MINUTES: u64 = 60;

/// The attempts of one minute that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinuteResults {
    /// Attempts that have ended.
    pub ended: u32,
    /// Those that have failed.
    pub failed: u32,
}

/// Counts attempts as they are launched, and their results.
#[derive(Debug, Default)]
pub(super) struct AttemptCounter {
    histories: Mutex<Histories>,
}

#[derive(Debug, Default)]
struct Histories {
    all: History,
    endpoints: HashMap<EndpointId, History>,
}

/// Seconds with attempts, oldest first, each by its number since the epoch.
#[derive(Debug, Default)]
struct History {
    seconds: VecDeque<(u64, u32, u32)>,
    /// Minutes with results, oldest first, each by its number since the epoch.
    minutes: VecDeque<(u64, MinuteResults)>,
}

impl AttemptCounter {
    /// An attempt has ended at `now`.
    pub(super) fn record_result(&self, endpoint: EndpointId, failed: bool, now: Instant) {
        let minute = second_of(now) / 60;
        let mut histories = self.lock();
        // Its launch has made room for it.
        if let Some(history) = histories.endpoints.get_mut(&endpoint) {
            history.record_result(minute, failed);
        }
    }

    /// The results of the last hour, by the minute, oldest first.
    pub(super) fn results(&self, endpoint: EndpointId, now: Instant) -> Vec<MinuteResults> {
        let histories = self.lock();
        let minutes = histories.endpoints.get(&endpoint).map(|history| &history.minutes);
        let begin = (second_of(now) / 60).saturating_sub(MINUTES - 1);
        let mut results = vec![MinuteResults::default(); 60];
        for (minute, counted) in minutes.into_iter().flatten() {
            let at = minute.checked_sub(begin).and_then(|n| usize::try_from(n).ok());
            if let Some(result) = at.and_then(|at| results.get_mut(at)) {
                *result = *counted;
            }
        }
        results
    }

    /// An attempt of this number is made at `now`.
    pub(super) fn record(&self, endpoint: EndpointId, number: u32, now: Instant) {
        let second = second_of(now);
        let mut histories = self.lock();
        histories.all.record(second, number);
        if !histories.endpoints.contains_key(&endpoint)
            && histories.endpoints.len() >= MOST_ENDPOINTS
        {
            histories.make_room(second);
        }
        histories.endpoints.entry(endpoint).or_default().record(second, number);
    }

    /// Every second up to `now`.
    pub(super) fn read(&self, endpoint: Option<EndpointId>, now: Instant) -> AttemptRates {
        let histories = self.lock();
        let history = match endpoint {
            Some(id) => histories.endpoints.get(&id),
            None => Some(&histories.all),
        };
        let last = second_of(now);
        let mut seconds = (last.saturating_sub(SECONDS - 1)..=last).map(blank).collect::<Vec<_>>();
        let begin = last.saturating_sub(SECONDS - 1);
        for (second, first, retries) in history.into_iter().flat_map(|history| &history.seconds) {
            let at = second.checked_sub(begin).and_then(|n| usize::try_from(n).ok());
            if let Some(entry) = at.and_then(|at| seconds.get_mut(at)) {
                (entry.first, entry.retries) = (*first, *retries);
            }
        }
        AttemptRates { seconds }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Histories> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Histories {
    /// Drops the histories without an attempt in sight, or the quietest one if all have some.
    fn make_room(&mut self, now: u64) {
        self.endpoints.retain(|_, history| history.last() + SECONDS > now);
        if self.endpoints.len() >= MOST_ENDPOINTS {
            let quietest = self.endpoints.iter().min_by_key(|(_, history)| history.last());
            if let Some(id) = quietest.map(|(id, _)| *id) {
                self.endpoints.remove(&id);
            }
        }
    }
}

impl History {
    fn record(&mut self, second: u64, number: u32) {
        if self.last() < second || self.seconds.is_empty() {
            self.seconds.push_back((second, 0, 0));
        }
        while self.seconds.front().is_some_and(|(first, ..)| first + SECONDS <= second) {
            self.seconds.pop_front();
        }
        if let Some((_, first, retries)) = self.seconds.back_mut() {
            let count = if number <= 1 { first } else { retries };
            *count = count.saturating_add(1);
        }
    }

    fn record_result(&mut self, minute: u64, failed: bool) {
        if self.minutes.back().is_none_or(|(last, _)| *last < minute) {
            self.minutes.push_back((minute, MinuteResults::default()));
        }
        while self.minutes.front().is_some_and(|(first, _)| first + MINUTES <= minute) {
            self.minutes.pop_front();
        }
        if let Some((_, results)) = self.minutes.back_mut() {
            results.ended = results.ended.saturating_add(1);
            results.failed = results.failed.saturating_add(u32::from(failed));
        }
    }

    fn last(&self) -> u64 {
        self.seconds.back().map_or(0, |(second, ..)| *second)
    }
}

fn second_of(at: Instant) -> u64 {
    at.as_nanos() / Span::from_secs(1).as_nanos()
}

fn blank(second: u64) -> Second {
    Second { at: Instant::ORIGIN + Span::from_secs(second), first: 0, retries: 0 }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(seconds)
    }

    fn endpoint(id: u128) -> EndpointId {
        EndpointId::from_uuid(Uuid::from_u128(id))
    }

    #[test]
    fn a_second_after_a_silence_is_not_added_to_the_one_before() {
        let entries = AttemptCounter::default();
        entries.record(endpoint(1), 1, at(1_000));
        entries.record(endpoint(2), 2, at(1_000));
        entries.record(endpoint(1), 3, at(1_004));
        let seconds = entries.read(None, at(1_005)).seconds;
        assert_eq!(seconds.len(), 300);
        let [.., a, _, _, _, b, last] = seconds[..] else { panic!("six at least") };
        assert_eq!((a.at, a.first, a.retries), (at(1_000), 1, 1));
        assert_eq!((b.at, b.first, b.retries), (at(1_004), 0, 1));
        assert_eq!(last, Second { at: at(1_005), ..Second::default() });
        let one = entries.read(Some(endpoint(1)), at(1_299));
        assert_eq!((one.seconds[0].first, one.seconds[0].retries), (1, 0));
        assert!(entries.read(Some(endpoint(9)), at(1_299)).seconds.iter().all(|s| s.first == 0));
    }

    #[test]
    fn results_are_counted_by_the_minute_for_an_hour() {
        let counter = AttemptCounter::default();
        counter.record(endpoint(1), 1, at(600));
        for (second, failed) in [(600, true), (659, false), (660, true), (600 + 3_600, true)] {
            counter.record_result(endpoint(1), failed, at(second));
        }
        counter.record_result(endpoint(2), true, at(600));
        let results = counter.results(endpoint(1), at(660 + 3_540));
        assert_eq!(results.len(), 60);
        assert_eq!(results[0], MinuteResults { ended: 1, failed: 1 });
        assert_eq!(results[59], MinuteResults { ended: 1, failed: 1 });
        assert!(results[1..59].iter().all(|minute| minute.ended == 0));
        assert!(counter.results(endpoint(2), at(600)).iter().all(|minute| minute.ended == 0));
    }

    #[test]
    fn more_endpoints_than_there_is_room_for_push_out_the_quietest() {
        let entries = AttemptCounter::default();
        entries.record(endpoint(0), 1, at(1_000));
        for id in 1..=MOST_ENDPOINTS {
            entries.record(endpoint(id as u128), 1, at(1_001));
        }
        assert_eq!(entries.lock().endpoints.len(), MOST_ENDPOINTS);
        let quiet = entries.read(Some(endpoint(0)), at(1_001));
        assert!(quiet.seconds.iter().all(|second| second.first == 0));
    }
}
