//! One member of a consumer group: it joins, says that it lives, and commits offsets.
//!
//! The classic protocol of groups, which all versions of Kafka have: `JoinGroup`, `SyncGroup`, `Heartbeat`, `LeaveGroup`.

use std::collections::{BTreeMap, BTreeSet};

use stagger::{Clock, Instant, Span, TokioTime};
use stagger_sender::GuardedNetwork;

use super::assignor::{RANGE, assign, assigned, assignment, subscribed, subscription};
use super::brokers::KafkaBrokers;
use super::connection::KafkaConnection;
use super::error_code::ErrorCode;
use super::wire::{KafkaReader, KafkaRequest, KafkaWriter};
use crate::refusal::{BrokerRefusal, within};
use crate::source::no_application;

/// The longest time between two signs of life: that of Java's clients. A shorter session has three.
const BEAT: Span = Span::from_secs(3);
/// The time that members have to join again: a member with a batch under way does so after it.
const REBALANCE: Span = Span::from_secs(60);
/// The longest time for one question to the coordinator, and for one that waits for the other members.
const ANSWER: Span = Span::from_secs(10);
const JOINING: Span = Span::from_secs(70);
/// The number of times that a join begins anew at once, because the group has gone on meanwhile.
const JOINS: usize = 5;

/// The brokers of a group.
pub(super) type At<'a> = (&'a GuardedNetwork, &'a KafkaBrokers);

/// This member.
#[derive(Debug)]
pub(super) struct GroupMember {
    group: String,
    topic: String,
    id: String,
    /// The generation of the group that this member is of; none while it is of none.
    generation: Option<i32>,
    is_leader: bool,
    coordinator: Option<KafkaConnection>,
    session: Span,
    beat_at: Instant,
}

/// The answer to a join.
struct Joined {
    generation: i32,
    leader: String,
    members: BTreeMap<String, BTreeSet<String>>,
}

impl GroupMember {
    pub(super) fn new(group: &str, topic: &str, session: Span) -> Self {
        Self {
            group: group.to_owned(),
            topic: topic.to_owned(),
            id: String::new(),
            generation: None,
            is_leader: false,
            coordinator: None,
            session,
            beat_at: Instant::ORIGIN,
        }
    }

    /// Whether it is of the group.
    pub(super) const fn is_in(&self) -> bool {
        self.generation.is_some()
    }

    /// Whether it is the member that gives out the partitions.
    pub(super) const fn is_leader(&self) -> bool {
        self.is_leader
    }

    /// Joins before the next round.
    pub(super) const fn rejoin(&mut self) {
        self.generation = None;
    }

    /// Joins the group; the partitions that it has got.
    ///
    /// # Errors
    /// The coordinator cannot be reached, or refuses.
    pub(super) async fn join(&mut self, at: At<'_>) -> Result<Vec<i32>, BrokerRefusal> {
        let mut failure = BrokerRefusal::new(503, "the group goes on without this member");
        for _ in 0..JOINS {
            match self.try_join(at).await? {
                Ok(partitions) => return Ok(partitions),
                Err(error) => failure = error.refusal(&self.group),
            }
        }
        Err(failure)
    }

    async fn try_join(&mut self, at: At<'_>) -> Result<Result<Vec<i32>, ErrorCode>, BrokerRefusal> {
        self.generation = None;
        let joined = match self.ask_to_join(at).await? {
            Ok(joined) => joined,
            Err(error) => return Ok(Err(error)),
        };
        self.is_leader = joined.leader == self.id;
        let mut body = KafkaWriter::default();
        body.text(&self.group).i32(joined.generation).text(&self.id);
        let all = if self.is_leader { give_out(at, &joined.members).await? } else { Vec::new() };
        body.list(all.iter(), |body, (member, text)| {
            body.text(member).bytes(text.as_slice());
        });
        let mut answer = self.call(at, KafkaRequest::SyncGroup, &body, JOINING).await?;
        let (_throttle, error) = (answer.i32()?, answer.i16()?);
        if let Err(error) = self.judge(error)? {
            return Ok(Err(error));
        }
        let partitions = assigned(answer.bytes()?, &self.topic)?;
        self.generation = Some(joined.generation);
        self.beat_at = TokioTime.now();
        Ok(Ok(partitions))
    }

    async fn ask_to_join(
        &mut self,
        at: At<'_>,
    ) -> Result<Result<Joined, ErrorCode>, BrokerRefusal> {
        let mut body = KafkaWriter::default();
        body.text(&self.group).i32(millis(self.session)).i32(millis(REBALANCE)).text(&self.id);
        let own = subscription(&self.topic);
        body.text("consumer").list([RANGE].into_iter(), |body, name| {
            body.text(name).bytes(own.as_slice());
        });
        let mut answer = self.call(at, KafkaRequest::JoinGroup, &body, JOINING).await?;
        let (_throttle, error) = (answer.i32()?, answer.i16()?);
        if let Err(error) = self.judge(error)? {
            return Ok(Err(error));
        }
        let generation = answer.i32()?;
        let (_protocol, leader, id) = (answer.text()?, answer.text()?, answer.text()?);
        let members = answer.list(|it| Ok((it.text()?, subscribed(it.bytes()?)?)))?;
        self.id = id;
        Ok(Ok(Joined { generation, leader, members: members.into_iter().collect() }))
    }

    /// The time until the next sign of life is due.
    pub(super) fn next_beat(&self) -> Span {
        let beat = BEAT.min(Span::from_nanos(self.session.as_nanos() / 3));
        (self.beat_at + beat).since(TokioTime.now())
    }

    /// Says that this member lives, if that is due. After it the member may be of the group no longer.
    ///
    /// # Errors
    /// The coordinator cannot be reached, or refuses.
    pub(super) async fn beat(&mut self, at: At<'_>) -> Result<(), BrokerRefusal> {
        let Some(generation) = self.generation else { return Ok(()) };
        if self.next_beat() > Span::ZERO {
            return Ok(());
        }
        self.beat_at = TokioTime.now();
        let mut body = KafkaWriter::default();
        body.text(&self.group).i32(generation).text(&self.id);
        let mut answer = self.call(at, KafkaRequest::Heartbeat, &body, ANSWER).await?;
        let (_throttle, error) = (answer.i32()?, answer.i16()?);
        // A rebalance is no failure: the member joins again.
        self.judge(error).map(|_| ())
    }

    /// The offsets that the group has committed; none for a partition of which it has committed nothing.
    ///
    /// # Errors
    /// The coordinator cannot be reached, or refuses.
    pub(super) async fn committed(
        &mut self,
        at: At<'_>,
        partitions: &[i32],
    ) -> Result<BTreeMap<i32, Option<i64>>, BrokerRefusal> {
        let mut body = KafkaWriter::default();
        body.text(&self.group).list([&self.topic].into_iter(), |body, topic| {
            body.text(topic).list(partitions.iter(), |body, partition| _ = body.i32(*partition));
        });
        let mut answer = self.call(at, KafkaRequest::OffsetFetch, &body, ANSWER).await?;
        let all = answer.list(|it| {
            _ = it.text()?;
            it.list(|it| {
                let (partition, offset) = (it.i32()?, it.i64()?);
                let (_metadata, error) = (it.nullable_text()?, it.i16()?);
                Ok((partition, offset, error))
            })
        })?;
        let mut committed: BTreeMap<_, _> = partitions.iter().map(|it| (*it, None)).collect();
        for (partition, offset, error) in all.into_iter().flatten() {
            self.judge(error)?.map_err(|error| error.refusal(&self.group))?;
            if let Some(known) = committed.get_mut(&partition) {
                *known = (offset >= 0).then_some(offset);
            }
        }
        Ok(committed)
    }

    /// Commits offsets, as a member of its generation: a member that was evicted commits nothing.
    ///
    /// # Errors
    /// The coordinator cannot be reached, or refuses.
    pub(super) async fn commit(
        &mut self,
        at: At<'_>,
        offsets: &[(i32, i64)],
    ) -> Result<(), BrokerRefusal> {
        let Some(generation) = self.generation else {
            return Err(BrokerRefusal::new(503, "the group goes on without this member"));
        };
        let mut body = KafkaWriter::default();
        // -1: the broker keeps them for as long as it is configured to.
        body.text(&self.group).i32(generation).text(&self.id).i64(-1);
        body.list([&self.topic].into_iter(), |body, topic| {
            body.text(topic).list(offsets.iter(), |body, (partition, offset)| {
                body.i32(*partition).i64(*offset).no_text();
            });
        });
        let mut answer = self.call(at, KafkaRequest::OffsetCommit, &body, ANSWER).await?;
        let all = answer.list(|it| {
            _ = it.text()?;
            it.list(|it| Ok((it.i32()?, it.i16()?)))
        })?;
        for (partition, error) in all.into_iter().flatten() {
            let about = format!("the offset of {}-{partition}", self.topic);
            self.judge(error)?.map_err(|error| error.refusal(&about))?;
        }
        Ok(())
    }

    /// Leaves the group, so that others get its partitions at once.
    ///
    /// # Errors
    /// The coordinator cannot be reached.
    pub(super) async fn leave(&mut self, at: At<'_>) -> Result<(), BrokerRefusal> {
        if self.id.is_empty() {
            return Ok(());
        }
        let mut body = KafkaWriter::default();
        body.text(&self.group).text(&self.id);
        self.generation = None;
        self.id.clear();
        self.call(at, KafkaRequest::LeaveGroup, &body, ANSWER).await.map(|_| ())
    }

    /// The meaning of an error for the membership: one after which the member joins again is inside, any other is a failure.
    fn judge(&mut self, error: i16) -> Result<Result<(), ErrorCode>, BrokerRefusal> {
        let Err(error) = ErrorCode::check(error) else { return Ok(Ok(())) };
        if error.is_coordinator_moved() {
            self.coordinator = None;
        }
        let Some(keeps_id) = error.rejoin() else { return Err(error.refusal(&self.group)) };
        self.generation = None;
        if !keeps_id {
            self.id.clear();
        }
        Ok(Err(error))
    }

    /// Asks the coordinator. Its connection is given up where the answer does not come.
    async fn call(
        &mut self,
        at: At<'_>,
        api: KafkaRequest,
        body: &KafkaWriter,
        span: Span,
    ) -> Result<KafkaReader, BrokerRefusal> {
        let mut connection = match self.coordinator.take() {
            Some(connection) => connection,
            None => within(ANSWER, self.find(at)).await?,
        };
        let answer = within(span, async { Ok(connection.call(api, body).await?) }).await?;
        self.coordinator = Some(connection);
        Ok(answer)
    }

    async fn find(&mut self, (network, cluster): At<'_>) -> Result<KafkaConnection, BrokerRefusal> {
        let mut connection = cluster.connect(network, no_application()).await?;
        let mut body = KafkaWriter::default();
        body.text(&self.group).i8(0);
        let mut answer = connection.call(KafkaRequest::FindCoordinator, &body).await?;
        let (_throttle, error) = (answer.i32()?, answer.i16()?);
        let (_why, _id) = (answer.nullable_text()?, answer.i32()?);
        let (host, port) = (answer.text()?, answer.i32()?);
        ErrorCode::check(error).map_err(|error| error.refusal(&self.group))?;
        let address = cluster.peer(network, &host, port)?;
        cluster.connect_to(network, (&address, no_application())).await
    }
}

/// Gives out the partitions of all topics that members subscribe to.
async fn give_out(
    (network, cluster): At<'_>,
    members: &BTreeMap<String, BTreeSet<String>>,
) -> Result<Vec<(String, KafkaWriter)>, BrokerRefusal> {
    let names: BTreeSet<&str> = members.values().flatten().map(String::as_str).collect();
    let names: Vec<_> = names.into_iter().collect();
    let metadata = within(ANSWER, async {
        let mut connection = cluster.connect(network, no_application()).await?;
        cluster.metadata(network, &mut connection, &names).await
    });
    let topics = metadata.await?.topics;
    let topics = topics.into_iter().map(|it| (it.name, it.leaders.into_keys().collect())).collect();
    let all = assign(members, &topics);
    Ok(all.into_iter().map(|(member, own)| (member, assignment(&own))).collect())
}

fn millis(span: Span) -> i32 {
    i32::try_from(span.as_nanos() / 1_000_000).unwrap_or(i32::MAX)
}
