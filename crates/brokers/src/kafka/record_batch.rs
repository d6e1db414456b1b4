//! Batches of records, as brokers store and send them (format 2, since Kafka 0.11).
//!
//! <https://kafka.apache.org/documentation/#recordbatch>

use std::collections::BTreeSet;

use bytes::Bytes;

use super::compression::decompressed;
use super::crc32c::crc32c;
use super::wire::{KafkaReader, KafkaWriter, NotKafka};

/// Bytes before those that the checksum covers, without the offset and the length: epoch, format, checksum.
const BEFORE_CHECKED: i32 = 9;
/// The format of batches.
const FORMAT: i8 = 2;
/// Bits of a batch's attributes.
const CODEC: i16 = 0b111;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
/// Most headers of one record that are kept: others would cost more memory than they have bytes.
const MAX_HEADERS: usize = 1000;

/// A record to be published.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRecord<'r> {
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    pub(super) key: Option<&'r [u8]>,
    pub(super) value: &'r [u8],
    pub(super) headers: &'r [(String, String)],
}

impl NewRecord<'_> {
    /// A batch of this one record.
    pub(super) fn batch(&self) -> KafkaWriter {
        let mut record = KafkaWriter::default();
        record.i8(0).varint(0).varint(0).var_bytes(self.key).var_bytes(Some(self.value));
        record.varint(i64::try_from(self.headers.len()).unwrap_or(i64::MAX));
        for (name, value) in self.headers {
            record.var_bytes(Some(name.as_bytes())).var_bytes(Some(value.as_bytes()));
        }
        let mut checked = KafkaWriter::default();
        checked.i16(0).i32(0).i64(self.timestamp).i64(self.timestamp);
        // No producer id, epoch and sequence: the broker does not recognise repetitions.
        checked.i64(-1).i16(-1).i32(-1).i32(1).var_bytes(Some(record.as_slice()));
        let checked = checked.as_slice();
        let length =
            i32::try_from(checked.len()).unwrap_or(i32::MAX).saturating_add(BEFORE_CHECKED);
        let mut batch = KafkaWriter::default();
        batch.i64(0).i32(length).i32(-1).i8(FORMAT);
        batch.i32(crc32c(checked).cast_signed()).raw(checked);
        batch
    }
}

/// A record of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredRecord {
    pub(super) offset: i64,
    pub(super) key: Option<Bytes>,
    pub(super) value: Bytes,
    pub(super) headers: Vec<(String, String)>,
}

/// The records of an answer, which are read one by one, so that many small ones never are in memory at once.
#[derive(Debug)]
pub(super) struct StoredRecords {
    batches: KafkaReader,
    open: Option<OpenBatch>,
    /// The transactions that were aborted: the id of their producer, and their first offset, in its order.
    aborted: Vec<(i64, i64)>,
    aborting: BTreeSet<i64>,
    /// The offset after the last record or batch that was read.
    next: i64,
}

#[derive(Debug)]
struct OpenBatch {
    records: KafkaReader,
    base: i64,
    left: i32,
    end: i64,
}

/// A batch that cannot be read, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchFlaw(pub(super) String);

impl From<NotKafka> for BatchFlaw {
    fn from(_: NotKafka) -> Self {
        Self("the batch is cut".to_owned())
    }
}

impl StoredRecords {
    /// The records of these batches from this offset on.
    pub(super) fn new(batches: Bytes, from: i64, mut aborted: Vec<(i64, i64)>) -> Self {
        aborted.sort_by_key(|(_, first)| std::cmp::Reverse(*first));
        let (batches, aborting) = (KafkaReader::new(batches), BTreeSet::new());
        Self { batches, open: None, aborted, aborting, next: from }
    }

    /// The offset after the last record that was read, and after the records of a transaction's end behind it.
    pub(super) const fn next_offset(&self) -> i64 {
        self.next
    }

    /// The next record; none at the end, where a batch may be cut.
    ///
    /// # Errors
    /// A batch that is damaged, of an older format, or compressed in an unknown way.
    pub(super) fn next(&mut self) -> Result<Option<StoredRecord>, BatchFlaw> {
        loop {
            let Some(open) = &mut self.open else {
                if self.open_batch()? {
                    continue;
                }
                return Ok(None);
            };
            if open.left <= 0 {
                self.next = self.next.max(open.end);
                self.open = None;
                continue;
            }
            open.left -= 1;
            let record = record(&mut open.records, open.base)?;
            // A batch begins where it was written, which may be before the offset that was asked for.
            if record.offset >= self.next {
                self.next = record.offset + 1;
                return Ok(Some(record));
            }
        }
    }

    /// Opens the next batch; false if there is none as a whole.
    fn open_batch(&mut self) -> Result<bool, BatchFlaw> {
        loop {
            let mut ahead = self.batches.clone();
            let (Ok(base), Ok(length)) = (ahead.i64(), ahead.i32()) else { return Ok(false) };
            if length < BEFORE_CHECKED {
                return Err(NotKafka.into());
            }
            let Ok(Some(whole)) = ahead.sized(i64::from(length)) else { return Ok(false) };
            self.batches = ahead;
            if let Some(open) = self.read_batch(KafkaReader::new(whole), base)? {
                self.open = Some(open);
                return Ok(true);
            }
        }
    }

    /// The records of a batch; none if it has none that is to be delivered.
    fn read_batch(
        &mut self,
        mut batch: KafkaReader,
        base: i64,
    ) -> Result<Option<OpenBatch>, BatchFlaw> {
        let (_epoch, format) = (batch.i32()?, batch.i8()?);
        if format != FORMAT {
            let detail = format!("messages of format {format}, which is older than Kafka 0.11");
            return Err(BatchFlaw(detail));
        }
        let sum = batch.i32()?.cast_unsigned();
        if crc32c(batch.rest()) != sum {
            return Err(BatchFlaw("the checksum of the batch is wrong".to_owned()));
        }
        let (attributes, last) = (batch.i16()?, batch.i32()?);
        let _timestamps = (batch.i64()?, batch.i64()?);
        let (producer, _epoch, _sequence) = (batch.i64()?, batch.i16()?, batch.i32()?);
        let left = batch.i32()?;
        if base < 0 || last < 0 {
            return Err(NotKafka.into());
        }
        let end = base.saturating_add(i64::from(last)).saturating_add(1);
        while let Some((producer, _)) = self.aborted.pop_if(|(_, first)| *first < end) {
            self.aborting.insert(producer);
        }
        let is_control = attributes & CONTROL != 0;
        let is_aborted = attributes & TRANSACTIONAL != 0 && self.aborting.contains(&producer);
        if is_control {
            self.aborting.remove(&producer);
        }
        if is_control || is_aborted || end <= self.next {
            self.next = self.next.max(end);
            return Ok(None);
        }
        let records = decompressed(attributes & CODEC, batch.rest()).map_err(BatchFlaw)?;
        Ok(Some(OpenBatch { records: KafkaReader::new(records), base, left, end }))
    }
}

fn record(records: &mut KafkaReader, base: i64) -> Result<StoredRecord, NotKafka> {
    let length = records.varint()?;
    let mut record = KafkaReader::new(records.sized(length)?.ok_or(NotKafka)?);
    let (_attributes, _timestamp, delta) = (record.i8()?, record.varint()?, record.varint()?);
    let (key, value) = (record.var_bytes()?, record.var_bytes()?.unwrap_or_default());
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let mut headers = Vec::new();
    for _ in 0..record.varint()?.max(0) {
        let name = record.var_bytes()?.ok_or(NotKafka)?;
        let value = record.var_bytes()?.unwrap_or_default();
        if headers.len() < MAX_HEADERS {
            headers.push((text(&name), text(&value)));
        }
    }
    let offset = base.checked_add(delta).filter(|it| (0..i64::MAX).contains(it)).ok_or(NotKafka)?;
    Ok(StoredRecord { offset, key, value, headers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(value: &str) -> Vec<u8> {
        let headers = [("content-type".to_owned(), "text/plain".to_owned())];
        let record = NewRecord {
            timestamp: 1_700_000_000_000,
            key: Some(b"k"),
            value: value.as_bytes(),
            headers: &headers,
        };
        record.batch().as_slice().to_vec()
    }

    /// A batch with this offset and these attributes.
    fn at(offset: i64, attributes: i16, producer: i64) -> Vec<u8> {
        let mut bytes = batch("x");
        bytes[..8].copy_from_slice(&offset.to_be_bytes());
        bytes[21..23].copy_from_slice(&attributes.to_be_bytes());
        bytes[43..51].copy_from_slice(&producer.to_be_bytes());
        let sum = crc32c(&bytes[21..]).to_be_bytes();
        bytes[17..21].copy_from_slice(&sum);
        bytes
    }

    fn offsets(bytes: Vec<u8>, from: i64, aborted: Vec<(i64, i64)>) -> (Vec<i64>, i64) {
        let mut records = StoredRecords::new(bytes.into(), from, aborted);
        let mut found = Vec::new();
        while let Some(record) = records.next().expect("it is whole") {
            found.push(record.offset);
        }
        (found, records.next_offset())
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let mut records = StoredRecords::new(batch("hello").into(), 0, Vec::new());
        let record = records.next().expect("it is whole").expect("a record");
        assert_eq!((record.offset, record.key), (0, Some(Bytes::from_static(b"k"))));
        assert_eq!(&record.value[..], b"hello");
        assert_eq!(record.headers, [("content-type".to_owned(), "text/plain".to_owned())]);
        assert_eq!((records.next(), records.next_offset()), (Ok(None), 1));
    }

    #[test]
    fn a_batch_that_is_cut_is_left_for_the_next_answer_and_a_damaged_one_is_told() {
        let two = [at(4, 0, -1), at(5, 0, -1)].concat();
        for end in 0..two.len() {
            let (found, next) = offsets(two[..end].to_vec(), 4, Vec::new());
            assert_eq!(found.len(), end / (two.len() / 2), "{end}");
            assert_eq!(next, 4 + i64::try_from(found.len()).expect("few"));
        }
        let mut damaged = batch("hello");
        *damaged.last_mut().expect("a byte") ^= 1;
        let flaw = StoredRecords::new(damaged.into(), 0, Vec::new()).next().expect_err("damaged");
        assert!(flaw.0.contains("checksum"), "{flaw:?}");
        let mut old = batch("hello");
        old[16] = 1;
        let flaw = StoredRecords::new(old.into(), 0, Vec::new()).next().expect_err("old");
        assert!(flaw.0.contains("format 1"), "{flaw:?}");
        let flaw =
            StoredRecords::new(at(0, 7, -1).into(), 0, Vec::new()).next().expect_err("unknown");
        assert!(flaw.0.contains("compression 7"), "{flaw:?}");
    }

    #[test]
    fn records_before_the_offset_and_of_aborted_transactions_are_not_delivered() {
        let all = [
            at(3, 0, -1),
            at(4, TRANSACTIONAL, 9),
            at(5, TRANSACTIONAL, 8),
            at(6, TRANSACTIONAL | CONTROL, 9),
            at(7, TRANSACTIONAL, 9),
            at(8, TRANSACTIONAL | CONTROL, 9),
        ];
        assert_eq!(offsets(all.concat(), 4, vec![(9, 4)]), (vec![5, 7], 9));
        assert_eq!(offsets(all.concat(), 3, Vec::new()), (vec![3, 4, 5, 7], 9));
    }
}
