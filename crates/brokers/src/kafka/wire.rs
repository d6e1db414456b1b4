//! The protocol of Kafka: frames of big-endian numbers, texts, bytes and lists.
//!
//! <https://kafka.apache.org/protocol>. Of each request the version is used that both old brokers (since 1.0) and new ones
//! (4.0, which dropped all versions before) have.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A request by its number, with the version that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KafkaRequest {
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    JoinGroup,
    Heartbeat,
    LeaveGroup,
    SyncGroup,
    SaslHandshake,
    ApiVersions,
    SaslAuthenticate,
}

impl KafkaRequest {
    /// The number of the request, and its version.
    pub(super) const fn numbers(self) -> (i16, i16) {
        match self {
            Self::Produce => (0, 3),
            Self::Fetch => (1, 4),
            Self::ListOffsets => (2, 1),
            Self::Metadata => (3, 4),
            Self::OffsetCommit => (8, 2),
            Self::OffsetFetch => (9, 1),
            Self::FindCoordinator => (10, 1),
            Self::JoinGroup => (11, 2),
            Self::Heartbeat => (12, 1),
            Self::LeaveGroup => (13, 1),
            Self::SyncGroup => (14, 1),
            Self::SaslHandshake => (17, 1),
            Self::ApiVersions => (18, 0),
            Self::SaslAuthenticate => (36, 0),
        }
    }
}

/// Bytes that are not of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotKafka;

/// The body of a request.
#[derive(Debug, Default)]
pub(super) struct KafkaWriter(BytesMut);

impl KafkaWriter {
    pub(super) fn i8(&mut self, number: i8) -> &mut Self {
        self.0.put_i8(number);
        self
    }

    pub(super) fn i16(&mut self, number: i16) -> &mut Self {
        self.0.put_i16(number);
        self
    }

    pub(super) fn i32(&mut self, number: i32) -> &mut Self {
        self.0.put_i32(number);
        self
    }

    pub(super) fn i64(&mut self, number: i64) -> &mut Self {
        self.0.put_i64(number);
        self
    }

    /// A text; one that no length can say is cut, which no caller does: all are bounded before.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let size = i16::try_from(text.len()).unwrap_or(i16::MAX);
        self.i16(size).raw(&text.as_bytes()[..text.len().min(usize::from(size.unsigned_abs()))])
    }

    pub(super) fn no_text(&mut self) -> &mut Self {
        self.i16(-1)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.size(bytes.len()).raw(bytes)
    }

    /// A list, whose elements `write` appends.
    pub(super) fn list<T>(
        &mut self,
        all: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.size(all.len());
        for one in all {
            write(self, one);
        }
        self
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.put_slice(bytes);
        self
    }

    /// A signed number in groups of seven bits, zigzag.
    pub(super) fn varint(&mut self, number: i64) -> &mut Self {
        let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while rest >= 0x80 {
            self.0.put_u8(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        self.0.put_u8(rest.to_le_bytes()[0]);
        self
    }

    /// Bytes whose length is a `varint`; `None` is -1.
    pub(super) fn var_bytes(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            None => self.varint(-1),
            Some(bytes) => self.varint(i64::try_from(bytes.len()).unwrap_or(i64::MAX)).raw(bytes),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    fn size(&mut self, size: usize) -> &mut Self {
        self.i32(i32::try_from(size).unwrap_or(i32::MAX))
    }
}

/// The body of an answer. Nothing is allocated for a length that it does not have.
#[derive(Clone, Debug)]
pub(super) struct KafkaReader(Bytes);

impl KafkaReader {
    pub(super) const fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    pub(super) fn i8(&mut self) -> Result<i8, NotKafka> {
        self.0.try_get_i8().map_err(|_| NotKafka)
    }

    pub(super) fn i16(&mut self) -> Result<i16, NotKafka> {
        self.0.try_get_i16().map_err(|_| NotKafka)
    }

    pub(super) fn i32(&mut self) -> Result<i32, NotKafka> {
        self.0.try_get_i32().map_err(|_| NotKafka)
    }

    pub(super) fn i64(&mut self) -> Result<i64, NotKafka> {
        self.0.try_get_i64().map_err(|_| NotKafka)
    }

    pub(super) fn text(&mut self) -> Result<String, NotKafka> {
        self.nullable_text()?.ok_or(NotKafka)
    }

    pub(super) fn nullable_text(&mut self) -> Result<Option<String>, NotKafka> {
        let size = self.i16()?;
        let Some(bytes) = self.sized(i64::from(size))? else { return Ok(None) };
        String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| NotKafka)
    }

    /// Bytes; those that are null are empty.
    pub(super) fn bytes(&mut self) -> Result<Bytes, NotKafka> {
        let size = self.i32()?;
        Ok(self.sized(i64::from(size))?.unwrap_or_default())
    }

    /// A list, whose elements `read` takes; one that is null is empty.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, NotKafka>,
    ) -> Result<Vec<T>, NotKafka> {
        let size = self.i32()?;
        // No capacity is reserved: an element of no bytes would end the loop late, so there is none.
        let mut all = Vec::new();
        for _ in 0..size.max(0) {
            let before = self.0.len();
            all.push(read(self)?);
            if self.0.len() == before {
                return Err(NotKafka);
            }
        }
        Ok(all)
    }

    pub(super) fn varint(&mut self) -> Result<i64, NotKafka> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.0.try_get_u8().map_err(|_| NotKafka)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((number >> 1).cast_signed() ^ -((number & 1).cast_signed()));
            }
        }
        Err(NotKafka)
    }

    pub(super) fn var_bytes(&mut self) -> Result<Option<Bytes>, NotKafka> {
        let size = self.varint()?;
        self.sized(size)
    }

    /// The next bytes, `None` for a negative size.
    pub(super) fn sized(&mut self, size: i64) -> Result<Option<Bytes>, NotKafka> {
        if size < 0 {
            return Ok(None);
        }
        let size = usize::try_from(size).map_err(|_| NotKafka)?;
        if size > self.0.len() {
            return Err(NotKafka);
        }
        Ok(Some(self.0.split_to(size)))
    }

    pub(super) const fn rest(&self) -> &Bytes {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> KafkaReader {
        KafkaReader::new(Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn a_length_that_is_a_lie_allocates_nothing() {
        let most = i32::MAX.to_be_bytes();
        assert_eq!(reader(&most).list(KafkaReader::i64), Err(NotKafka));
        assert_eq!(reader(&most).list(|_| Ok(())), Err(NotKafka), "elements of no bytes");
        assert_eq!(reader(&most).bytes(), Err(NotKafka));
        assert_eq!(reader(&i16::MAX.to_be_bytes()).text(), Err(NotKafka));
        assert_eq!(reader(&[0xff; 11]).varint(), Err(NotKafka));
    }

    #[test]
    fn what_was_written_is_read() {
        let numbers = [0, -1, 1, 63, -64, 64, 300, i64::MAX, i64::MIN];
        let mut writer = KafkaWriter::default();
        writer.i8(-3).i16(7).i32(-9).i64(11).text("häh").no_text().bytes(b"ab");
        writer.list([1, 2].into_iter(), |writer, it| _ = writer.i32(it)).var_bytes(None);
        writer.var_bytes(Some(b"x"));
        for number in numbers {
            writer.varint(number);
        }
        let mut read = reader(writer.as_slice());
        assert_eq!(
            (read.i8(), read.i16(), read.i32(), read.i64()),
            (Ok(-3), Ok(7), Ok(-9), Ok(11))
        );
        assert_eq!((read.text(), read.nullable_text()), (Ok("häh".to_owned()), Ok(None)));
        assert_eq!(read.bytes(), Ok(Bytes::from_static(b"ab")));
        assert_eq!(read.list(KafkaReader::i32), Ok(vec![1, 2]));
        assert_eq!(read.var_bytes(), Ok(None));
        assert_eq!(read.var_bytes(), Ok(Some(Bytes::from_static(b"x"))));
        for number in numbers {
            assert_eq!(read.varint(), Ok(number));
        }
        assert!(read.rest().is_empty());
    }

    #[test]
    fn a_varint_is_written_as_the_reference_says() {
        // 300 in zigzag is 600: 0b100_1011000.
        let mut writer = KafkaWriter::default();
        writer.varint(300).varint(-1);
        assert_eq!(writer.as_slice(), [0xd8, 0x04, 0x01]);
    }
}
