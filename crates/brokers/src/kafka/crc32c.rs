//! The checksum of batches: CRC-32C (Castagnoli, RFC 3720 section 12.1).

/// The polynomial, its lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;
const TABLE: [u32; 256] = table();

/// The checksum of these bytes.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        TABLE[usize::from(low ^ byte)] ^ (sum >> 8)
    };
    !bytes.iter().fold(u32::MAX, step)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    let mut byte = 0;
    while at < table.len() {
        let mut sum: u32 = byte;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[at] = sum;
        at += 1;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 3720 appendix B.4, and the usual one.
    #[test]
    fn the_vectors_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b""), 0);
    }
}
