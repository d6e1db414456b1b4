//! Records on their way to the leaders of their partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger::{Clock, Instant, Sleep, Span, TokioTime};
use stagger_scheduler::model::ApplicationId;
use stagger_sender::{BrokerAddress, GuardedNetwork, SendFailure};

use super::brokers::KafkaBrokers;
use super::connection::KafkaConnection;
use super::error_code::ErrorCode;
use super::partitioner::partition_of;
use super::record_batch::NewRecord;
use super::wire::{KafkaReader, KafkaRequest, KafkaWriter, NotKafka};
use crate::idle::IdleConnections;
use crate::refusal::BrokerRefusal;

/// The time for which the leaders of a topic are believed: then partitions may have been added.
const LEADERS_AGE: Span = Span::from_secs(60);
/// The number of times that an attempt asks for newer leaders, and the pause before the first, which doubles.
const MOVES: u32 = 3;
const MOVE_PAUSE: Span = Span::from_millis(100);
/// Most topics whose leaders are remembered, and most brokers with idle connections: one endpoint writes to few.
const MAX_REMEMBERED: usize = 64;
/// All replicas in sync have to have the record.
const ACKS_ALL: i16 = -1;
/// The longest time for which the leader waits for the replicas, in milliseconds.
const REPLICAS_TIME: i32 = 30_000;

/// Publishes to the topics of one cluster.
#[derive(Debug)]
pub(super) struct Producer {
    cluster: KafkaBrokers,
    leaders: Mutex<HashMap<String, (Arc<Leaders>, Instant)>>,
    idle: Mutex<HashMap<Arc<str>, Arc<IdleConnections<KafkaConnection>>>>,
    turn: AtomicU32,
}

/// The leaders of a topic's partitions.
#[derive(Debug)]
struct Leaders {
    of_partition: BTreeMap<i32, Option<BrokerAddress>>,
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) partition: i32,
    pub(super) offset: i64,
}

impl Producer {
    pub(super) fn new(cluster: KafkaBrokers) -> Self {
        let (leaders, idle) = (Mutex::default(), Mutex::default());
        Self { cluster, leaders, idle, turn: AtomicU32::new(0) }
    }

    pub(super) const fn cluster(&self) -> &KafkaBrokers {
        &self.cluster
    }

    /// Publishes a record; `begin` is asked before its first byte is written. A partition whose leader is another one by now
    /// is asked for again.
    ///
    /// # Errors
    /// The broker refuses it, or cannot be reached.
    pub(super) async fn publish(
        &self,
        (network, of): (&GuardedNetwork, ApplicationId),
        topic: &str,
        record: &NewRecord<'_>,
        begin: impl Fn() -> Result<(), SendFailure>,
    ) -> Result<Published, BrokerRefusal> {
        let batch = record.batch();
        let mut moves = 0;
        loop {
            let leaders = self.leaders((network, of), topic).await?;
            let (partition, leader) = leaders.choose(record.key, &self.turn)?;
            let published = match leader {
                None => Ok(Err(ErrorCode::LEADER_NOT_AVAILABLE)),
                Some(leader) => {
                    let to = (topic, partition);
                    self.publish_to((network, of), leader, to, (&batch, &begin)).await
                }
            };
            match published {
                Ok(Ok(offset)) => return Ok(Published { partition, offset }),
                Ok(Err(error)) if error.is_moved() && moves < MOVES => {
                    self.forget(topic);
                    TokioTime.sleep(Span::from_nanos(MOVE_PAUSE.as_nanos() << moves)).await;
                    moves += 1;
                }
                Ok(Err(error)) => {
                    self.forget(topic);
                    return Err(error.refusal(&format!("{topic}-{partition}")));
                }
                // The leader is down, or its address is forbidden: the next attempt asks who leads by then.
                Err(refusal) => {
                    self.forget(topic);
                    return Err(refusal);
                }
            }
        }
    }

    async fn publish_to(
        &self,
        (network, of): (&GuardedNetwork, ApplicationId),
        leader: &BrokerAddress,
        (topic, partition): (&str, i32),
        (batch, begin): (&KafkaWriter, impl Fn() -> Result<(), SendFailure>),
    ) -> Result<Result<i64, ErrorCode>, BrokerRefusal> {
        let idle = self.idle(leader);
        let mut connection = match usable(&idle).await {
            Some(connection) => connection,
            None => self.cluster.connect_to(network, (leader, of)).await?,
        };
        let mut body = KafkaWriter::default();
        body.no_text().i16(ACKS_ALL).i32(REPLICAS_TIME);
        body.list([topic].into_iter(), |body, topic| {
            body.text(topic).list([partition].into_iter(), |body, partition| {
                body.i32(partition).bytes(batch.as_slice());
            });
        });
        begin()?;
        let mut answer = connection.call(KafkaRequest::Produce, &body).await?;
        let answers = answer.list(|it| {
            let topic = it.text()?;
            Ok((topic, it.list(PartitionAnswer::read)?))
        })?;
        idle.put(connection);
        let found = answers.into_iter().filter(|(name, _)| name == topic).flat_map(|(_, it)| it);
        let answer = found.into_iter().find(|it| it.partition == partition).ok_or(NotKafka)?;
        Ok(ErrorCode::check(answer.error).map(|()| answer.offset))
    }

    async fn leaders(
        &self,
        (network, of): (&GuardedNetwork, ApplicationId),
        topic: &str,
    ) -> Result<Arc<Leaders>, BrokerRefusal> {
        if let Some((leaders, since)) = lock(&self.leaders).get(topic)
            && TokioTime.now().since(*since) < LEADERS_AGE
        {
            return Ok(Arc::clone(leaders));
        }
        let idle = self.idle(self.cluster.first());
        let mut connection = match usable(&idle).await {
            Some(connection) => connection,
            None => self.cluster.connect(network, of).await?,
        };
        let mut tries = 0;
        loop {
            let metadata = self.cluster.metadata(network, &mut connection, &[topic]).await?;
            let found = metadata.topic(topic).ok_or(NotKafka)?;
            match ErrorCode::check(found.error) {
                Ok(()) => {
                    idle.put(connection);
                    let peer = |id: i32| {
                        (id >= 0).then(|| self.cluster.broker(network, &metadata, id)).transpose()
                    };
                    let of_partition =
                        found.leaders.iter().map(|(index, id)| Ok((*index, peer(*id)?)));
                    let of_partition = of_partition.collect::<Result<_, BrokerRefusal>>()?;
                    return Ok(self.remember(topic, Leaders { of_partition }));
                }
                // A topic that was made just now has no leaders yet.
                Err(ErrorCode::LEADER_NOT_AVAILABLE) if tries < MOVES => {
                    TokioTime.sleep(Span::from_nanos(MOVE_PAUSE.as_nanos() << tries)).await;
                    tries += 1;
                }
                Err(error) => {
                    idle.put(connection);
                    return Err(error.refusal(topic));
                }
            }
        }
    }

    fn remember(&self, topic: &str, leaders: Leaders) -> Arc<Leaders> {
        let leaders = Arc::new(leaders);
        let mut all = lock(&self.leaders);
        if all.len() >= MAX_REMEMBERED {
            all.clear();
        }
        all.insert(topic.to_owned(), (Arc::clone(&leaders), TokioTime.now()));
        leaders
    }

    fn forget(&self, topic: &str) {
        lock(&self.leaders).remove(topic);
    }

    fn idle(&self, at: &BrokerAddress) -> Arc<IdleConnections<KafkaConnection>> {
        let mut all = lock(&self.idle);
        if all.len() >= MAX_REMEMBERED && !all.contains_key(at.origin()) {
            all.clear();
        }
        Arc::clone(all.entry(Arc::clone(at.origin())).or_default())
    }
}

impl Leaders {
    /// The partition of a record: that of its key, or the next one in turn that has a leader.
    fn choose(
        &self,
        key: Option<&[u8]>,
        turn: &AtomicU32,
    ) -> Result<(i32, Option<&BrokerAddress>), BrokerRefusal> {
        let all: Vec<_> = self.of_partition.iter().collect();
        let led: Vec<_> = all.iter().copied().filter(|(_, leader)| leader.is_some()).collect();
        let among = if key.is_some() || led.is_empty() { all } else { led };
        let count = u32::try_from(among.len()).unwrap_or(u32::MAX).max(1);
        let chosen = match key {
            Some(key) => partition_of(key, count),
            None => turn.fetch_add(1, Ordering::Relaxed) % count,
        };
        let chosen = usize::try_from(chosen).ok().and_then(|it| among.get(it));
        let (index, leader) =
            chosen.ok_or_else(|| BrokerRefusal::new(503, "the topic has no partitions"))?;
        Ok((**index, leader.as_ref()))
    }
}

/// The answer for one partition.
struct PartitionAnswer {
    partition: i32,
    error: i16,
    offset: i64,
}

impl PartitionAnswer {
    fn read(answer: &mut KafkaReader) -> Result<Self, NotKafka> {
        let (partition, error, offset) = (answer.i32()?, answer.i16()?, answer.i64()?);
        let _append_time = answer.i64()?;
        Ok(Self { partition, error, offset })
    }
}

async fn usable(idle: &IdleConnections<KafkaConnection>) -> Option<KafkaConnection> {
    while let Some(mut connection) = idle.take() {
        if connection.is_usable().await {
            return Some(connection);
        }
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
