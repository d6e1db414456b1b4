//! The partition of a message: by its key as the clients in Java do it, or one after the other.

/// The partition of a key among this number, which is at least one.
pub(super) fn partition_of(key: &[u8], partitions: u32) -> u32 {
    // The reference makes the hash positive by its lowest 31 bits.
    (murmur2(key) & 0x7fff_ffff) % partitions.max(1)
}

/// `MurmurHash2` with the seed of the clients in Java (`org.apache.kafka.common.utils.Utils`).
fn murmur2(bytes: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const FACTOR: u32 = 0x5bd1_e995;
    // OK because a key has less than 2^31 bytes; the reference computes with the lowest 32 bits too.
    #[expect(clippy::cast_possible_truncation, reason = "the reference has 32 bits")]
    let mut hash = SEED ^ bytes.len() as u32;
    let mut words = bytes.chunks_exact(4);
    for word in words.by_ref() {
        let mut mixed = little_endian(word).wrapping_mul(FACTOR);
        mixed = (mixed ^ (mixed >> 24)).wrapping_mul(FACTOR);
        hash = hash.wrapping_mul(FACTOR) ^ mixed;
    }
    if !words.remainder().is_empty() {
        hash = (hash ^ little_endian(words.remainder())).wrapping_mul(FACTOR);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(FACTOR);
    hash ^ (hash >> 15)
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Kafka's own tests (`UtilsTest.testMurmur2`).
    #[test]
    fn a_key_has_the_hash_that_clients_in_java_give_it() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn a_key_has_one_partition() {
        assert_eq!(partition_of(b"foobar", 1), 0);
        // -790332482 without its sign bit is 1357151166.
        assert_eq!(partition_of(b"foobar", 10), 6);
    }
}
