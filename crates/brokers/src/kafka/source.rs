//! A topic of Kafka as a source: a member of a consumer group.

use std::collections::BTreeMap;

use async_trait::async_trait;
use stagger::{Clock, ConfigError, Span, TokioTime};
use stagger_scheduler::model::{EndpointAuth, KafkaSasl};
use stagger_sender::GuardedNetwork;

use super::brokers::{KafkaBrokers, first_broker, is_topic};
use super::credentials::KafkaCredentials;
use super::destination::milliseconds;
use super::fetcher::{Fetcher, KafkaStart};
use super::group::GroupMember;
use super::producer::Producer;
use super::progress::Progress;
use super::record_batch::{NewRecord, StoredRecord};
use crate::refusal::{BrokerRefusal, within};
use crate::source::{
    AckId, BrokerMessage, Disposition, Source, SourceFailure, no_application, operators_endpoint,
    reason,
};

/// Messages of one round: enough for one commit of the store, and few enough that a node that dies delays few.
const BATCH: usize = 64;
/// The longest time of a round without a message.
const WAIT: Span = Span::from_secs(5);
/// The pause before a message that could not be accepted comes again.
const PAUSE: Span = Span::from_secs(5);
/// The longest time for a dead letter, and for the last word to the group.
const ANSWER: Span = Span::from_secs(20);
const FAREWELL: Span = Span::from_secs(2);
/// Longest name of a group, in bytes.
const MAX_GROUP: usize = 255;
/// The shortest and the longest session.
const SESSIONS: std::ops::RangeInclusive<Span> = Span::from_secs(1)..=Span::from_secs(1800);

/// The settings of a source.
#[derive(Clone, Debug)]
pub struct KafkaSourceSettings {
    /// The address of one broker: `kafka://host:9092`, or `kafka+ssl://host:9093`. It names the others.
    pub url: String,
    /// The topic.
    pub topic: String,
    /// The consumer group, whose members share the partitions.
    pub group: String,
    /// The start of a partition of which the group has committed nothing.
    pub start: KafkaStart,
    /// The time after which the broker gives the partitions of a silent member to others: 1 s to 30 min, and as long as the
    /// brokers allow. One shorter than the longest pause of a consumer loses them while the store is away.
    pub session: Span,
    /// The topic that messages go to which can never be accepted. Without one they end where they are, with a log line.
    pub dead_letter: Option<String>,
    /// The SASL mechanism for a name and a password.
    pub sasl: Option<KafkaSasl>,
    /// The credentials: `basic` or `mtls`.
    pub auth: Option<EndpointAuth>,
}

/// A member of a group that all nodes with the same settings share.
#[derive(Debug)]
pub struct KafkaSource {
    network: GuardedNetwork,
    settings: KafkaSourceSettings,
    producer: Producer,
    member: GroupMember,
    fetcher: Fetcher,
    progress: BTreeMap<i32, Progress>,
    /// The number of partitions when the group was joined.
    partitions: usize,
}

impl KafkaSource {
    /// A source; it connects when it is asked for messages.
    ///
    /// # Errors
    /// A setting with the bound it breaks.
    pub fn new(
        network: GuardedNetwork,
        settings: KafkaSourceSettings,
    ) -> Result<Self, ConfigError> {
        let topics = [
            ("source.topic", Some(&settings.topic)),
            ("source.dead_letter", settings.dead_letter.as_ref()),
        ];
        for (field, topic) in topics {
            if let Some(topic) = topic.filter(|it| !is_topic(it)) {
                let bound = "1 to 249 letters, digits, full stops, - and _";
                return Err(ConfigError::new(field, topic, bound));
            }
        }
        if settings.group.is_empty() || settings.group.len() > MAX_GROUP {
            return Err(ConfigError::new("source.group", &settings.group, "1 to 255 bytes"));
        }
        if !SESSIONS.contains(&settings.session) {
            let given = format!("{} ms", settings.session.as_nanos() / 1_000_000);
            return Err(ConfigError::new("source.session_timeout", given, "1 s to 30 min"));
        }
        let endpoint = operators_endpoint(&settings.url, settings.auth.clone());
        let first = first_broker(&network, &endpoint)?;
        network.check_broker(&first)?;
        let credentials =
            KafkaCredentials::new(settings.auth.as_ref(), settings.sasl).map_err(|error| {
                if error.field() == "destination.sasl" { error.at("source.sasl") } else { error }
            })?;
        Ok(Self {
            network,
            producer: Producer::new(KafkaBrokers::new(first, credentials)),
            member: GroupMember::new(&settings.group, &settings.topic, settings.session),
            fetcher: Fetcher::new(&settings.topic),
            progress: BTreeMap::new(),
            partitions: 0,
            settings,
        })
    }

    async fn round(&mut self) -> Result<Vec<BrokerMessage>, BrokerRefusal> {
        for (partition, progress) in &mut self.progress {
            if let Some(offset) = progress.rewind() {
                self.fetcher.rewind(*partition, offset, PAUSE);
            }
        }
        let end = TokioTime.now() + WAIT;
        loop {
            self.keep_membership().await?;
            let taken = self.fetcher.take(BATCH)?;
            let left = end.since(TokioTime.now());
            if !taken.is_empty() || left.is_zero() {
                return Ok(taken.into_iter().map(|taken| self.hand_out(taken)).collect());
            }
            let at = (&self.network, self.producer.cluster());
            for partition in self.fetcher.wait(at, left.min(self.member.next_beat())).await? {
                // What was there is deleted already, or the topic is a new one.
                let start = (partition, KafkaStart::Earliest);
                let offset = self.fetcher.start_of(at, start).await?;
                self.fetcher.rewind(partition, offset, Span::ZERO);
                self.progress.insert(partition, Progress::new(offset));
            }
        }
    }

    /// Joins the group where this member is not of it, or the topic has got more partitions; else says that it lives.
    async fn keep_membership(&mut self) -> Result<(), BrokerRefusal> {
        let at = (&self.network, self.producer.cluster());
        let partitions = self.fetcher.partitions(at).await?;
        if self.member.is_leader() && partitions != self.partitions {
            self.member.rejoin();
        }
        self.member.beat(at).await?;
        if self.member.is_in() {
            return Ok(());
        }
        self.progress.clear();
        self.fetcher.assign(std::iter::empty());
        self.partitions = partitions;
        let own = self.member.join(at).await?;
        let begun = self.begin(&own).await;
        if begun.is_err() {
            self.member.rejoin();
        }
        begun
    }

    /// Begins to read the partitions that this member has got.
    async fn begin(&mut self, own: &[i32]) -> Result<(), BrokerRefusal> {
        let at = (&self.network, self.producer.cluster());
        let committed = self.member.committed(at, own).await?;
        let mut new = Vec::new();
        for (partition, offset) in committed {
            let offset = match offset {
                Some(offset) => offset,
                None => {
                    let offset =
                        self.fetcher.start_of(at, (partition, self.settings.start)).await?;
                    new.push((partition, offset));
                    offset
                }
            };
            self.progress.insert(partition, Progress::new(offset));
        }
        // Else messages would be skipped that come before the first commit, if the group began anew at the end.
        if !new.is_empty() && self.settings.start == KafkaStart::Latest {
            self.member.commit(at, &new).await?;
        }
        let all = self.progress.iter().map(|(partition, it)| (*partition, it.committed()));
        self.fetcher.assign(all);
        Ok(())
    }

    fn hand_out(&mut self, (partition, record, after): (i32, StoredRecord, i64)) -> BrokerMessage {
        let StoredRecord { offset, key, value, headers } = record;
        if let Some(progress) = self.progress.get_mut(&partition) {
            progress.hand_out((offset, key), after);
        }
        let place = format!("{}-{partition}-{offset}", self.settings.topic);
        let ack_id = AckId::new(format!("{partition}-{offset}"));
        let mut message = BrokerMessage { id: place, headers, payload: value, ack_id };
        // A sender that published it twice, because it missed the first answer, has given it one id.
        if let Some(id) = message.header("webhook-id").filter(|it| !it.is_empty()) {
            message.id = id.to_owned();
        }
        message
    }

    async fn tell(&mut self, ack_id: &AckId, fate: Disposition) -> Result<(), BrokerRefusal> {
        let place = ack_id.as_str().split_once('-');
        let place = place
            .and_then(|(partition, offset)| Some((partition.parse().ok()?, offset.parse().ok()?)));
        let Some((partition, offset)) = place else {
            return Err(BrokerRefusal::new(500, "no message of this source"));
        };
        let buried = match &fate {
            Disposition::Poison(why, arrival) => self.bury((partition, offset), why, arrival).await,
            Disposition::Accepted | Disposition::Later => Ok(()),
        };
        let is_done = buried.is_ok() && !matches!(fate, Disposition::Later);
        if let Some(progress) = self.progress.get_mut(&partition) {
            progress.settle(offset, is_done);
        }
        let committed = self.commit().await;
        buried.and(committed)
    }

    /// Commits what is accepted, once a round is settled.
    async fn commit(&mut self) -> Result<(), BrokerRefusal> {
        if !self.progress.values().all(Progress::is_settled) {
            return Ok(());
        }
        let due =
            self.progress.iter().filter_map(|(partition, it)| Some((*partition, it.to_commit()?)));
        let due: Vec<_> = due.collect();
        if due.is_empty() {
            return Ok(());
        }
        let at = (&self.network, self.producer.cluster());
        self.member.commit(at, &due).await?;
        for (partition, offset) in due {
            if let Some(progress) = self.progress.get_mut(&partition) {
                progress.commit(offset);
            }
        }
        Ok(())
    }

    /// Publishes a message to the dead letters, with its key and the reason.
    async fn bury(
        &mut self,
        (partition, offset): (i32, i64),
        why: &str,
        arrival: &BrokerMessage,
    ) -> Result<(), BrokerRefusal> {
        let Some(topic) = &self.settings.dead_letter else { return Ok(()) };
        let key = self.progress.get(&partition).and_then(|it| it.key(offset));
        let mut headers = arrival.headers.clone();
        headers.push(("stagger-refused".to_owned(), reason(why)));
        headers.push(("stagger-source-id".to_owned(), arrival.id.clone()));
        let record = NewRecord {
            timestamp: milliseconds(),
            key: key.as_deref(),
            value: &arrival.payload,
            headers: &headers,
        };
        let by = (&self.network, no_application());
        within(ANSWER, self.producer.publish(by, topic, &record, || Ok(()))).await.map(|_| ())
    }
}

#[async_trait]
impl Source for KafkaSource {
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure> {
        self.round().await.map_err(SourceFailure::new)
    }

    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure> {
        self.tell(&ack_id, fate).await.map_err(SourceFailure::new)
    }

    async fn close(&mut self) {
        let at = (&self.network, self.producer.cluster());
        // Without it the group waits until this member is missed.
        _ = within(FAREWELL, self.member.leave(at)).await;
    }
}
