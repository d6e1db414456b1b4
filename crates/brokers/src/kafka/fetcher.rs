//! The records of the partitions that this member has got, fetched from their leaders.

use std::collections::{BTreeMap, BTreeSet};

use stagger::{Clock, Instant, Sleep, Span, TokioTime};
use tokio::task::JoinSet;

use super::brokers::Metadata;
use super::connection::KafkaConnection;
use super::error_code::ErrorCode;
use super::group::At;
use super::record_batch::{StoredRecord, StoredRecords};
use super::wire::{KafkaReader, KafkaRequest, KafkaWriter, NotKafka};
use crate::refusal::{BrokerRefusal, within};
use crate::source::no_application;

/// The time for which a leader waits for a record, in milliseconds.
const LEADER_WAIT: i32 = 1000;
/// Bytes of one answer, and of one partition in it, unless its first batch is larger.
const MAX_BYTES: i32 = 8 << 20;
const PARTITION_BYTES: i32 = 1 << 20;
/// Only records of transactions that were committed are read.
const READ_COMMITTED: i8 = 1;
/// The longest time for one question to a leader.
const ANSWER: Span = Span::from_secs(20);
/// The time for which leaders are believed: then partitions may have been added.
const LEADERS_AGE: Span = Span::from_secs(60);
/// The same while a partition has no leader.
const LEADERLESS_AGE: Span = Span::from_secs(1);
/// The pause before leaders are asked for again that are being chosen.
const MOVE_PAUSE: Span = Span::from_millis(200);
/// The offsets that `ListOffsets` has for the first record that is there, and for the next that will be.
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;

/// The start of a partition of which nothing is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KafkaStart {
    /// At the first message that is there.
    #[default]
    Earliest,
    /// At the first message that comes from now on.
    Latest,
}

/// Fetches from the leaders, one question at each. Questions go on between the rounds of a source.
#[derive(Debug)]
pub(super) struct Fetcher {
    topic: String,
    partitions: BTreeMap<i32, Fetching>,
    metadata: Metadata,
    /// The time of the metadata; none if it has to be asked for.
    known_at: Option<Instant>,
    connections: BTreeMap<i32, KafkaConnection>,
    under_way: JoinSet<Fetched>,
    busy: BTreeSet<i32>,
    /// The partition whose records are handed out first: each has its turn.
    turn: i32,
}

#[derive(Debug)]
struct Fetching {
    position: i64,
    records: Option<StoredRecords>,
    paused_until: Instant,
}

/// The answer of one leader.
struct Fetched {
    leader: i32,
    asked: BTreeMap<i32, i64>,
    answer: Result<(KafkaConnection, KafkaReader), BrokerRefusal>,
}

/// The answer for one partition.
struct FetchedPartition {
    index: i32,
    error: i16,
    aborted: Vec<(i64, i64)>,
    batches: bytes::Bytes,
}

impl Fetcher {
    pub(super) fn new(topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            partitions: BTreeMap::new(),
            metadata: Metadata::default(),
            known_at: None,
            connections: BTreeMap::new(),
            under_way: JoinSet::new(),
            busy: BTreeSet::new(),
            turn: 0,
        }
    }

    /// Fetches these partitions from these offsets on, and no others.
    pub(super) fn assign(&mut self, positions: impl Iterator<Item = (i32, i64)>) {
        self.under_way = JoinSet::new();
        self.busy.clear();
        let fetching =
            |position| Fetching { position, records: None, paused_until: Instant::ORIGIN };
        self.partitions = positions.map(|(index, position)| (index, fetching(position))).collect();
    }

    /// Reads a partition again from an offset on, after a pause.
    pub(super) fn rewind(&mut self, index: i32, position: i64, pause: Span) {
        if let Some(partition) = self.partitions.get_mut(&index) {
            let paused_until = TokioTime.now() + pause;
            *partition = Fetching { position, records: None, paused_until };
        }
    }

    /// The number of the topic's partitions, which is asked for where it is not known or old.
    ///
    /// # Errors
    /// No broker answers; there is no such topic.
    pub(super) async fn partitions(&mut self, at: At<'_>) -> Result<usize, BrokerRefusal> {
        let has_all = self.partitions.keys().all(|index| self.leader(*index).is_some());
        let age = if has_all { LEADERS_AGE } else { LEADERLESS_AGE };
        let is_known = self.known_at.is_some_and(|it| TokioTime.now().since(it) < age);
        if !is_known {
            let (network, cluster) = at;
            let metadata = within(ANSWER, async {
                let mut connection = cluster.connect(network, no_application()).await?;
                cluster.metadata(network, &mut connection, &[&self.topic]).await
            });
            self.metadata = metadata.await?;
            let topic = self.metadata.topic(&self.topic).ok_or(NotKafka)?;
            ErrorCode::check(topic.error).map_err(|error| error.refusal(&self.topic))?;
            self.known_at = Some(TokioTime.now());
        }
        Ok(self.metadata.topic(&self.topic).map_or(0, |topic| topic.leaders.len()))
    }

    /// The offset at which a partition begins.
    ///
    /// # Errors
    /// Its leader cannot be reached, or refuses.
    pub(super) async fn start_of(
        &mut self,
        at: At<'_>,
        (index, start): (i32, KafkaStart),
    ) -> Result<i64, BrokerRefusal> {
        let time = if start == KafkaStart::Earliest { EARLIEST } else { LATEST };
        let mut body = KafkaWriter::default();
        body.i32(-1).list([&self.topic].into_iter(), |body, topic| {
            body.text(topic).list([index].into_iter(), |body, index| {
                body.i32(index).i64(time);
            });
        });
        self.partitions(at).await?;
        let about = format!("{}-{index}", self.topic);
        let leader =
            self.leader(index).ok_or_else(|| ErrorCode::LEADER_NOT_AVAILABLE.refusal(&about));
        let (network, cluster) = at;
        let result = within(ANSWER, async {
            let address = cluster.broker(network, &self.metadata, leader?)?;
            let mut connection = cluster.connect_to(network, (&address, no_application())).await?;
            let mut answer = connection.call(KafkaRequest::ListOffsets, &body).await?;
            let all = answer.list(|it| {
                _ = it.text()?;
                it.list(|it| Ok((it.i32()?, it.i16()?, it.i64()?, it.i64()?)))
            })?;
            let found = all.into_iter().flatten().find(|it| it.0 == index).ok_or(NotKafka)?;
            ErrorCode::check(found.1).map_err(|error| error.refusal(&about))?;
            Ok(found.3.max(0))
        });
        let result = result.await;
        if result.is_err() {
            self.known_at = None;
        }
        result
    }

    /// Takes records that were fetched, at most this many, each with its partition and the offset after it.
    ///
    /// # Errors
    /// A batch cannot be read. The records before it are taken first.
    pub(super) fn take(
        &mut self,
        most: usize,
    ) -> Result<Vec<(i32, StoredRecord, i64)>, BrokerRefusal> {
        let mut taken = Vec::new();
        let order = self.partitions.range(self.turn..).chain(self.partitions.range(..self.turn));
        let order: Vec<i32> = order.map(|(index, _)| *index).collect();
        for index in order {
            let Some(partition) = self.partitions.get_mut(&index) else { continue };
            let Some(records) = &mut partition.records else { continue };
            while taken.len() < most {
                match records.next() {
                    Ok(Some(record)) => {
                        partition.position = records.next_offset();
                        taken.push((index, record, partition.position));
                    }
                    Ok(None) => {
                        partition.position = records.next_offset();
                        partition.records = None;
                        break;
                    }
                    Err(flaw) => {
                        partition.records = None;
                        if taken.is_empty() {
                            let place = format!("{}-{index} at {}", self.topic, partition.position);
                            return Err(BrokerRefusal::new(500, format!("{place}: {}", flaw.0)));
                        }
                        return Ok(taken);
                    }
                }
            }
            if taken.len() >= most {
                self.turn = index.saturating_add(1);
                break;
            }
        }
        Ok(taken)
    }

    /// Waits for the answer of a leader, for this time at most; the partitions whose offset is there no longer.
    ///
    /// # Errors
    /// A leader cannot be reached, or refuses.
    pub(super) async fn wait(&mut self, at: At<'_>, most: Span) -> Result<Vec<i32>, BrokerRefusal> {
        self.partitions(at).await?;
        self.ask(at)?;
        let now = TokioTime.now();
        let paused = self.partitions.values().map(|it| it.paused_until.since(now));
        let pause = paused.filter(|it| !it.is_zero()).min().unwrap_or(most);
        let fetched = tokio::select! {
            biased;
            Some(fetched) = self.under_way.join_next() => fetched,
            () = TokioTime.sleep(most.min(pause)) => return Ok(Vec::new()),
        };
        // A question that panicked has said so; it is asked again.
        let Ok(fetched) = fetched else {
            self.busy.clear();
            self.under_way = JoinSet::new();
            return Ok(Vec::new());
        };
        self.busy.remove(&fetched.leader);
        self.read(fetched).await.inspect_err(|_| self.known_at = None)
    }

    /// Asks each leader whose records were all taken.
    fn ask(&mut self, at: At<'_>) -> Result<(), BrokerRefusal> {
        let now = TokioTime.now();
        let mut questions: BTreeMap<i32, BTreeMap<i32, i64>> = BTreeMap::new();
        let mut waiting = self.busy.clone();
        for (index, partition) in &self.partitions {
            let Some(leader) = self.leader(*index) else { continue };
            if partition.records.is_some() {
                waiting.insert(leader);
            } else if partition.paused_until <= now {
                questions.entry(leader).or_default().insert(*index, partition.position);
            }
        }
        for (leader, asked) in questions.into_iter().filter(|(leader, _)| !waiting.contains(leader))
        {
            let (network, cluster) = at;
            let address = cluster.broker(network, &self.metadata, leader)?;
            let connection = self.connections.remove(&leader);
            let body = question(&self.topic, &asked);
            let (network, credentials) = (network.clone(), cluster.credentials().clone());
            self.busy.insert(leader);
            self.under_way.spawn(async move {
                let answer = within(ANSWER, async {
                    let mut connection = match connection {
                        Some(connection) => connection,
                        None => {
                            let to = (&address, no_application());
                            credentials.open(&network, to).await?
                        }
                    };
                    let answer = connection.call(KafkaRequest::Fetch, &body).await?;
                    Ok((connection, answer))
                });
                Fetched { leader, asked, answer: answer.await }
            });
        }
        Ok(())
    }

    async fn read(&mut self, fetched: Fetched) -> Result<Vec<i32>, BrokerRefusal> {
        let (connection, mut answer) = fetched.answer?;
        let _throttle = answer.i32()?;
        let all = answer.list(|it| {
            _ = it.text()?;
            it.list(FetchedPartition::read)
        })?;
        self.connections.insert(fetched.leader, connection);
        let (mut lost, mut is_moved) = (Vec::new(), false);
        for found in all.into_iter().flatten() {
            let Some(asked) = fetched.asked.get(&found.index) else { continue };
            // A partition that was put back meanwhile is asked for again.
            let known = self.partitions.get_mut(&found.index);
            let Some(partition) = known.filter(|it| it.position == *asked) else { continue };
            match ErrorCode::check(found.error) {
                Ok(()) => {
                    let records = StoredRecords::new(found.batches, *asked, found.aborted);
                    partition.records = Some(records);
                }
                Err(ErrorCode::OFFSET_OUT_OF_RANGE) => lost.push(found.index),
                Err(error) if error.is_moved() => is_moved = true,
                Err(error) => {
                    return Err(error.refusal(&format!("{}-{}", self.topic, found.index)));
                }
            }
        }
        if is_moved {
            self.known_at = None;
            TokioTime.sleep(MOVE_PAUSE).await;
        }
        Ok(lost)
    }

    fn leader(&self, index: i32) -> Option<i32> {
        let topic = self.metadata.topic(&self.topic)?;
        topic.leaders.get(&index).copied().filter(|leader| *leader >= 0)
    }
}

impl FetchedPartition {
    fn read(answer: &mut KafkaReader) -> Result<Self, NotKafka> {
        let (index, error) = (answer.i32()?, answer.i16()?);
        let (_end, _stable) = (answer.i64()?, answer.i64()?);
        let aborted = answer.list(|it| Ok((it.i64()?, it.i64()?)))?;
        Ok(Self { index, error, aborted, batches: answer.bytes()? })
    }
}

fn question(topic: &str, asked: &BTreeMap<i32, i64>) -> KafkaWriter {
    let mut body = KafkaWriter::default();
    body.i32(-1).i32(LEADER_WAIT).i32(1).i32(MAX_BYTES).i8(READ_COMMITTED);
    body.list([topic].into_iter(), |body, topic| {
        body.text(topic).list(asked.iter(), |body, (index, position)| {
            body.i32(*index).i64(*position).i32(PARTITION_BYTES);
        });
    });
    body
}
