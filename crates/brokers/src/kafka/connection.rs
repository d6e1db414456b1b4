//! A connection to a broker of Kafka, which one attempt or one source owns: no task runs beside it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::{Buf, BytesMut};
use stagger_scheduler::model::{ApplicationId, AttemptFailure};
use stagger_sender::{BrokerAddress, BrokerStream, GuardedNetwork, SendFailure};
use tokio::io::{AsyncRead, ReadBuf};

use super::error_code::ErrorCode;
use super::wire::{KafkaReader, KafkaRequest, KafkaWriter, NotKafka};
use crate::refusal::BrokerRefusal;
use crate::stream::{read_more, write_whole};

/// The schemes of a broker's address, each with whether it asks for TLS.
pub(super) const SCHEMES: &[(&str, bool)] = &[("kafka", false), ("kafka+ssl", true)];
/// The usual ports of a broker: that of the reference, and those of the listeners that services add.
pub(super) const PORTS: &[u16] = &[9092, 9093, 9094, 9096, 9098];

/// Largest answer, in bytes: the largest batch of messages that a broker may be configured to take, and more.
const MAX_ANSWER: usize = 64 << 20;
/// Largest answer before the broker has authenticated this side, in bytes.
const MAX_GREETING: usize = 64 << 10;
/// The name of this client in the logs and quotas of brokers.
const CLIENT: &str = "stagger";

/// A connection whose broker speaks a version of the protocol that is known.
pub(super) struct KafkaConnection {
    stream: BrokerStream,
    buffer: BytesMut,
    asked: i32,
    largest: usize,
}

impl KafkaConnection {
    /// Connects, shakes hands where the address asks for TLS, and asks for the versions of the broker.
    ///
    /// # Errors
    /// No connection; the broker is too old, or no broker of Kafka.
    pub(super) async fn open(
        network: &GuardedNetwork,
        (to, of): (&BrokerAddress, ApplicationId),
    ) -> Result<Self, BrokerRefusal> {
        let stream = network.connect_broker(to, of).await?;
        let stream = network.secure_broker(to, stream).await?;
        let buffer = BytesMut::new();
        let mut connection = Self { stream, buffer, asked: 0, largest: MAX_GREETING };
        connection.check_versions().await?;
        Ok(connection)
    }

    /// The broker has authenticated this side: it is asked for more than greetings.
    pub(super) const fn trust(&mut self) {
        self.largest = MAX_ANSWER;
    }

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// The connection fails; the answer is not of the protocol.
    pub(super) async fn call(
        &mut self,
        api: KafkaRequest,
        body: &KafkaWriter,
    ) -> Result<KafkaReader, SendFailure> {
        let (key, version) = api.numbers();
        self.asked = self.asked.wrapping_add(1);
        let mut head = KafkaWriter::default();
        head.i16(key).i16(version).i32(self.asked).text(CLIENT);
        let mut whole = KafkaWriter::default();
        whole.bytes(&[head.as_slice(), body.as_slice()].concat());
        self.write(whole.as_slice()).await?;
        let mut answer = self.read().await?;
        match answer.i32() {
            Ok(asked) if asked == self.asked => Ok(answer),
            _ => Err(not_kafka()),
        }
    }

    /// Whether it can be used on: the other side has not closed it while it was idle, and owes no answer.
    pub(super) async fn is_usable(&mut self) -> bool {
        let stream = &mut self.stream;
        let is_quiet = poll_fn(|context| {
            let mut bytes = [0; 1];
            let read = Pin::new(&mut *stream).poll_read(context, &mut ReadBuf::new(&mut bytes));
            Poll::Ready(read.is_pending())
        });
        self.buffer.is_empty() && is_quiet.await
    }

    /// Asks for the versions of all requests, which every broker since 0.10 answers before it authenticates.
    async fn check_versions(&mut self) -> Result<(), BrokerRefusal> {
        let mut answer = self.call(KafkaRequest::ApiVersions, &KafkaWriter::default()).await?;
        let error = answer.i16()?;
        let known = answer.list(|it| Ok((it.i16()?, it.i16()?, it.i16()?)))?;
        ErrorCode::check(error).map_err(|error| error.refusal("the versions of the broker"))?;
        let (produce, version) = KafkaRequest::Produce.numbers();
        let has =
            known.iter().any(|(api, from, to)| *api == produce && (*from..=*to).contains(&version));
        if has {
            return Ok(());
        }
        Err(BrokerRefusal::new(400, "the broker is older than Kafka 1.0, or no broker of Kafka"))
    }

    async fn read(&mut self) -> Result<KafkaReader, SendFailure> {
        loop {
            if let Some(mut size) = self.buffer.get(..4) {
                let size = usize::try_from(size.get_i32()).map_err(|_| not_kafka())?;
                if size > self.largest {
                    let detail =
                        format!("an answer of {size} bytes; at most {} are read", self.largest);
                    let detail =
                        if self.largest == MAX_ANSWER { detail } else { NOT_KAFKA.to_owned() };
                    return Err(SendFailure::new(AttemptFailure::Transport, detail));
                }
                if self.buffer.len() >= 4 + size {
                    self.buffer.advance(4);
                    return Ok(KafkaReader::new(self.buffer.split_to(size).freeze()));
                }
            }
            read_more(&mut self.stream, &mut self.buffer, "broker").await?;
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SendFailure> {
        write_whole(&mut self.stream, bytes).await
    }
}

impl std::fmt::Debug for KafkaConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaConnection").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl From<NotKafka> for BrokerRefusal {
    fn from(_: NotKafka) -> Self {
        not_kafka().into()
    }
}

const NOT_KAFKA: &str = "the other side is no broker of Kafka";

fn not_kafka() -> SendFailure {
    SendFailure::new(AttemptFailure::Transport, NOT_KAFKA)
}
