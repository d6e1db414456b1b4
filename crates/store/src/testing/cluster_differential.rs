//! The store in memory is short and plain for nodes that share it, too; every other one must answer them the
//! same.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use stagger::Verdict;
use stagger_scheduler::model::{Delivery, DeliveryState, EndpointState};

use super::differential::{MESSAGES, New, answer, build, everything, new};
use super::shared_memory::SharedMemoryStore;
use crate::testing::fixture::{app, application, at, attempt, endpoint, ep, furnish, msg, settled};
use crate::{
    Arrival, Cluster, DeliveryFilter, DeliveryStore, EndpointCommand, Fence, Lead, ReplayRequest,
    Settlement, ShardId, Shards,
};

/// One call of a node. Members are counted in the order in which they joined, orders as they were given.
#[derive(Clone, Debug)]
pub(crate) enum ClusterStep {
    BeginRun,
    Join,
    Heartbeat { who: usize, leaving: bool },
    Evict { who: usize, missed: u64 },
    SendCommand(usize),
    Acquire { who: usize, most: usize },
    Release { who: usize, of: PartOfShards },
    Accept { who: Option<usize>, behind: u64, news: Vec<New> },
    AcceptForAll(Vec<New>),
    Settle { who: usize, of: (u64, u64), state: DeliveryState, news: Option<New> },
    Replay { of: u64, one: Option<(u64, u64)>, limit: usize },
    Prune(u64),
    PutApplication(u64),
    PutEndpoint(u64),
    DeleteApplication(u64),
    DeleteEndpoint(u64),
    Load(PartOfShards),
    Arrivals { of: PartOfShards, done: u64, limit: usize },
    News { behind: u64 },
    Command { of: u64, command: EndpointCommand },
    Commands(PartOfShards),
    CompleteCommands(usize),
    IsCarriedOut(usize),
    EndpointState(u64),
}

/// Some shards: those of endpoints 1 to 3 that are wanted, and whether all others are.
type PartOfShards = ([bool; 3], bool);

/// Steps that a store may be taken through.
pub(crate) fn steps() -> impl Strategy<Value = Vec<ClusterStep>> {
    vec(
        prop_oneof![8 => of_members(), 12 => of_messages(), 3 => of_settings(), 4 => of_orders()],
        1..80,
    )
}

fn of_members() -> impl Strategy<Value = ClusterStep> {
    let who = || 0..4_usize;
    let some = any::<PartOfShards>;
    prop_oneof![
        1 => Just(ClusterStep::BeginRun),
        6 => Just(ClusterStep::Join),
        6 => (who(), any::<bool>()).prop_map(|(who, leaving)| ClusterStep::Heartbeat { who, leaving }),
        4 => (who(), 0..2_u64).prop_map(|(who, missed)| ClusterStep::Evict { who, missed }),
        1 => who().prop_map(ClusterStep::SendCommand),
        10 => (who(), 0..400_usize).prop_map(|(who, most)| ClusterStep::Acquire { who, most }),
        4 => (who(), some()).prop_map(|(who, of)| ClusterStep::Release { who, of }),
    ]
}

fn of_messages() -> impl Strategy<Value = ClusterStep> {
    let who = || 0..4_usize;
    let some = any::<PartOfShards>;
    let name = || (1..=MESSAGES, 1..=3_u64);
    let state = proptest::sample::select(&DeliveryState::ALL[..]);
    let behind = prop_oneof![9 => Just(0_u64), 1 => Just(1)];
    let accept = (proptest::option::of(who()), behind, vec(new(), 1..4));
    let settle = (who(), name(), state, proptest::option::weighted(0.2, new()));
    let replay = (1..=2_u64, proptest::option::of(name()), 1..4_usize);
    prop_oneof![
        8 => accept.prop_map(|(who, behind, news)| ClusterStep::Accept { who, behind, news }),
        2 => vec(new(), 1..4).prop_map(ClusterStep::AcceptForAll),
        8 => settle.prop_map(|(who, of, state, news)| ClusterStep::Settle { who, of, state, news }),
        4 => replay.prop_map(|(of, one, limit)| ClusterStep::Replay { of, one, limit }),
        1 => (1..=MESSAGES + 1).prop_map(ClusterStep::Prune),
        4 => some().prop_map(ClusterStep::Load),
        8 => (some(), 1..=MESSAGES, 0..4_usize)
            .prop_map(|(of, done, limit)| ClusterStep::Arrivals { of, done, limit }),
    ]
}

fn of_settings() -> impl Strategy<Value = ClusterStep> {
    prop_oneof![
        3 => (1..=2_u64).prop_map(ClusterStep::PutApplication),
        4 => (1..=3_u64).prop_map(ClusterStep::PutEndpoint),
        1 => (1..=2_u64).prop_map(ClusterStep::DeleteApplication),
        1 => (1..=3_u64).prop_map(ClusterStep::DeleteEndpoint),
        4 => (0..9_u64).prop_map(|behind| ClusterStep::News { behind }),
    ]
}

fn of_orders() -> impl Strategy<Value = ClusterStep> {
    let command = prop_oneof![
        Just(EndpointCommand::Enable),
        Just(EndpointCommand::Disable),
        Just(EndpointCommand::Recover),
        Just(EndpointCommand::Probe),
        (1..=MESSAGES).prop_map(|n| EndpointCommand::Retry(msg(n))),
        (1..=MESSAGES).prop_map(|n| EndpointCommand::Cancel(msg(n))),
    ];
    prop_oneof![
        (1..=3_u64, command).prop_map(|(of, command)| ClusterStep::Command { of, command }),
        any::<PartOfShards>().prop_map(ClusterStep::Commands),
        (0..9_usize).prop_map(ClusterStep::CompleteCommands),
        (0..9_usize).prop_map(ClusterStep::IsCarriedOut),
        (1..=3_u64).prop_map(ClusterStep::EndpointState),
    ]
}

/// Makes the steps with both stores, each opened by two processes that take turns, and compares
/// every answer, and the final contents.
pub(crate) async fn compare(fast: [&dyn DeliveryStore; 2], steps: &[ClusterStep]) {
    let plain = SharedMemoryStore::default();
    let other = plain.handle();
    let mut sides = [Side::of([&plain, &other]).await, Side::of(fast).await];
    let whole = [
        ClusterStep::Arrivals { of: ([true; 3], true), done: 0, limit: 99 },
        ClusterStep::Commands(([true; 3], true)),
    ];
    for (now, step) in (100..).zip(steps.iter().chain(&whole)) {
        let [expected, answer] = &mut sides;
        expected.pass();
        answer.pass();
        let expected = expected.take_named(step, now).await;
        assert_eq!(answer.take_named(step, now).await, expected, "{step:?}");
    }
    assert_eq!(everything(fast[0]).await, everything(&plain).await);
}

/// A store in two processes, and the answers that its nodes got.
struct Side<'s> {
    /// The process that makes the next call.
    store: &'s dyn DeliveryStore,
    other: &'s dyn DeliveryStore,
    members: Vec<Fence>,
    commands: Vec<u64>,
    /// All fences in the order in which they were first answered: their numbers differ by store.
    fences: Vec<u64>,
}

/// The texts before the number of a fence in an answer.
const BEFORE_FENCES: [&str; 2] = ["Fence(", "run "];

impl<'s> Side<'s> {
    async fn of([store, other]: [&'s dyn DeliveryStore; 2]) -> Self {
        furnish(store).await;
        Self { store, other, members: Vec::new(), commands: Vec::new(), fences: Vec::new() }
    }

    /// Passes the turn to the other process.
    const fn pass(&mut self) {
        std::mem::swap(&mut self.store, &mut self.other);
    }

    fn cluster(&self) -> &'s dyn Cluster {
        self.store.cluster().expect("several nodes can share it")
    }

    /// Takes a step, and writes down the answer with fences numbered as they came.
    async fn take_named(&mut self, step: &ClusterStep, now: u64) -> String {
        let mut answer = self.take(step, now).await;
        for before in BEFORE_FENCES {
            let mut parts = answer.split(before);
            let mut named = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
                let (number, rest) = part.split_at(end);
                named = format!("{named}{before}{}{rest}", self.name(number));
            }
            answer = named;
        }
        answer
    }

    fn name(&mut self, number: &str) -> String {
        let Ok(fence) = number.parse::<u64>() else { return number.to_owned() };
        let known = self.fences.iter().position(|it| *it == fence);
        let place = known.unwrap_or_else(|| {
            self.fences.push(fence);
            self.fences.len() - 1
        });
        format!("#{place}")
    }

    /// Takes a step, and writes down the answer.
    async fn take(&mut self, step: &ClusterStep, now: u64) -> String {
        let store = self.store;
        match step.clone() {
            ClusterStep::AcceptForAll(news) => {
                answer(store.accept(news.into_iter().map(build).collect()).await)
            }
            ClusterStep::Settle { who, of, state, news } => {
                let settlement = settlement(of, state, news, now);
                answer(store.settle(self.fence(who), vec![settlement]).await)
            }
            ClusterStep::Replay { of, one, limit } => {
                let request = match one {
                    Some((n, to)) => ReplayRequest::One(msg(n), ep(to)),
                    None => ReplayRequest::Many(app(of), DeliveryFilter::default()),
                };
                answer(store.replay(request, at(now), limit).await)
            }
            ClusterStep::Prune(before) => answer(store.prune(None, at(before), 99).await),
            ClusterStep::PutApplication(n) => answer(store.put_application(application(n)).await),
            ClusterStep::PutEndpoint(n) => answer(store.put_endpoint(endpoint(n, n / 3 + 1)).await),
            ClusterStep::DeleteApplication(n) => answer(store.delete_application(app(n)).await),
            ClusterStep::DeleteEndpoint(n) => answer(store.delete_endpoint(ep(n), at(now)).await),
            ClusterStep::BeginRun => answer(store.begin_run().await),
            ClusterStep::Load(of) => self.load(shards(of)).await,
            ClusterStep::Arrivals { of, done, limit } => {
                self.arrivals(shards(of), done, limit).await
            }
            ClusterStep::Accept { who, behind, news } => self.accept(who, behind, news).await,
            step => self.take_with_others(step).await,
        }
    }

    /// The steps that only stores with several nodes know.
    async fn take_with_others(&mut self, step: ClusterStep) -> String {
        let cluster = self.cluster();
        match step {
            ClusterStep::Join => {
                let node = format!("node {}", self.members.len());
                let joined = cluster.join(&node.as_str().into()).await.unwrap();
                self.members.push(joined.fence);
                answer(Ok(joined.fence))
            }
            ClusterStep::Heartbeat { who, leaving } => {
                answer(cluster.heartbeat(self.fence(who), leaving).await)
            }
            ClusterStep::Evict { who, missed } => {
                let heartbeat = self.heartbeat_of(who).await.saturating_sub(missed);
                answer(cluster.evict(self.fence(who), heartbeat).await)
            }
            ClusterStep::SendCommand(who) => answer(cluster.leave(self.fence(who)).await),
            ClusterStep::Acquire { who, most } => {
                answer(cluster.acquire(self.fence(who), most).await)
            }
            ClusterStep::Release { who, of } => {
                answer(cluster.release(self.fence(who), shards(of)).await)
            }
            ClusterStep::News { behind } => {
                // One more than there is, too.
                let after = (self.settings_version().await + 1).saturating_sub(behind);
                answer(cluster.changes_since(after).await)
            }
            ClusterStep::Command { of, command } => {
                let number = cluster.send_command(ep(of), command).await;
                self.commands.extend(&number);
                answer(number.map(|_| self.commands.len()))
            }
            ClusterStep::Commands(of) => self.commands(shards(of)).await,
            ClusterStep::CompleteCommands(n) => {
                answer(cluster.complete_commands(&self.given(n)).await)
            }
            ClusterStep::IsCarriedOut(n) => match self.given(n).first() {
                Some(command) => answer(cluster.is_command_done(*command).await),
                None => String::new(),
            },
            ClusterStep::EndpointState(n) => answer(cluster.endpoint_state(ep(n)).await),
            step => unreachable!("{step:?} is of one node"),
        }
    }

    async fn accept(&self, who: Option<usize>, behind: u64, news: Vec<New>) -> String {
        let lead = match who {
            Some(who) => {
                let fence = self.fence(who);
                Lead { fence, shards: self.shards_of(fence).await }
            }
            None => Lead::default(),
        };
        let settings_version = self.settings_version().await.saturating_sub(behind);
        let messages = news.into_iter().map(build).collect();
        answer(self.cluster().accept(lead, settings_version, messages).await)
    }

    /// The open deliveries, and whether all arrivals are covered.
    async fn load(&self, of: Shards) -> String {
        let mut found = Vec::new();
        let mut page = |page: Vec<Delivery>| found.extend(page);
        let mut covered = self.cluster().load(of, &mut page).await.unwrap();
        let other = self.other.cluster().expect("several nodes can share it");
        let mut arrived = self.cluster().arrivals(of, &[], 9999).await.unwrap();
        arrived.extend(other.arrivals(of, &[], 9999).await.unwrap());
        // Each finds those without a leader.
        let arrived: BTreeSet<_> = arrived.iter().map(|it| it.number).collect();
        covered.sort_unstable();
        assert!(covered.iter().eq(&arrived));
        let name = |it: &Delivery| (ShardId::of(it.endpoint), it.message, it.endpoint);
        for shard in of.iter() {
            assert!(found.iter().filter(|it| name(it).0 == shard).is_sorted_by_key(name));
        }
        found.sort_by_key(name);
        format!("{found:?}")
    }

    /// Completes the arrivals of message `done`, and returns the next ones. Deleted ones may be left out, or stay.
    async fn arrivals(&self, of: Shards, done: u64, limit: usize) -> String {
        let all = self.cluster().arrivals(of, &[], 9999).await.unwrap();
        let is_done = |it: &&Arrival| it.delivery.is_some_and(|it| it.message == msg(done));
        let numbers: Vec<_> = all.iter().filter(is_done).map(|it| it.number).collect();
        let first = self.cluster().arrivals(of, &numbers, limit).await.unwrap();
        let left = self.cluster().arrivals(of, &numbers, 9999).await.unwrap();
        assert!(left.is_sorted_by_key(|it| it.number));
        assert_eq!(first, left[..limit.min(left.len())]);
        let mut there: Vec<_> = left
            .into_iter()
            .filter_map(|it| Some(format!("{:?} {:?}", it.delivery?, it.content)))
            .collect();
        there.sort();
        // Where a message has the id of a deleted one, the arrival of that one may be left: its leader meets the same
        // delivery twice, and schedules it once.
        there.dedup();
        format!("{there:?}")
    }

    async fn commands(&self, of: Shards) -> String {
        let nth = |number: u64| self.commands.iter().position(|given| *given == number);
        let commands = self.cluster().commands(of).await.unwrap();
        let commands = commands.into_iter().map(|(number, to, command)| (nth(number), to, command));
        format!("{:?}", commands.collect::<Vec<_>>())
    }

    fn fence(&self, who: usize) -> Fence {
        // The latest may still be members.
        self.members.iter().rev().nth(who).copied().unwrap_or(Fence(9999))
    }

    fn given(&self, n: usize) -> Vec<u64> {
        self.commands.iter().rev().nth(n).into_iter().copied().collect()
    }

    async fn settings_version(&self) -> u64 {
        self.cluster().changes_since(0).await.unwrap().to
    }

    /// The shards of a member; all shards if it is no member.
    async fn shards_of(&self, fence: Fence) -> Shards {
        let cluster_view = self.cluster().heartbeat(fence, false).await.unwrap_or_default();
        let member = cluster_view.members.iter().find(|member| member.fence == fence);
        member.map_or(Shards::ALL, |member| member.shards)
    }

    async fn heartbeat_of(&self, who: usize) -> u64 {
        let mut heartbeat = 0;
        for other in (0..4).filter(|other| self.fence(*other) != self.fence(who)) {
            let cluster_view =
                self.cluster().heartbeat(self.fence(other), false).await.unwrap_or_default();
            let member = cluster_view.members.iter().find(|it| it.fence == self.fence(who));
            heartbeat = member.map_or(heartbeat, |member| member.heartbeat);
        }
        heartbeat
    }
}

fn settlement(
    (n, to): (u64, u64),
    state: DeliveryState,
    news: Option<New>,
    now: u64,
) -> Settlement {
    let endpoint_state = EndpointState { failing_since: Some(at(now)), ..EndpointState::default() };
    Settlement {
        attempt: Some(attempt(n, to, 1, Verdict::Transient)),
        endpoint_state: Some((ep(to), endpoint_state)),
        operational: news.map(build).into_iter().collect(),
        ..settled(n, to, to / 3 + 1, state, now)
    }
}

fn shards((endpoints, others): PartOfShards) -> Shards {
    let all: Shards = [1, 2, 3].map(|n| ShardId::of(ep(n))).into_iter().collect();
    let wanted = [1, 2, 3].into_iter().zip(endpoints).filter(|(_, wanted)| *wanted);
    let wanted: Shards = wanted.map(|(n, _)| ShardId::of(ep(n))).collect();
    if others { wanted.union(Shards::ALL.without(all)) } else { wanted }
}
