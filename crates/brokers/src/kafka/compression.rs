//! Compressed batches, which producers may write: each of Kafka's ways, read to a bound.

use std::io::Read;

use bytes::{Buf, Bytes};

/// Largest batch after it is decompressed, in bytes: as large as an answer may be. A batch can be a bomb.
const MAX_BATCH: usize = 64 << 20;
/// The first bytes of snappy as Java frames it, before two numbers of versions.
const SNAPPY_JAVA: &[u8] = b"\x82SNAPPY\0";

/// The records of a batch, by the number of its compression.
///
/// # Errors
/// It is of no known kind, damaged, or too large: in words.
pub(super) fn decompressed(codec: i16, bytes: &Bytes) -> Result<Bytes, String> {
    match codec {
        0 => Ok(bytes.clone()),
        1 => read("gzip", flate2::bufread::MultiGzDecoder::new(&bytes[..])),
        2 => snappy(bytes),
        3 => read("lz4", lz4_flex::frame::FrameDecoder::new(&bytes[..])),
        4 => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]);
            read("zstd", decoder.map_err(|error| format!("zstd: {error}"))?)
        }
        other => Err(format!("a batch of the unknown compression {other}")),
    }
}

fn read(name: &str, decoder: impl Read) -> Result<Bytes, String> {
    let mut found = Vec::new();
    // OK because a usize fits in 64 bits.
    let most = MAX_BATCH as u64 + 1;
    decoder.take(most).read_to_end(&mut found).map_err(|error| format!("{name}: {error}"))?;
    if found.len() > MAX_BATCH { Err(too_large(name)) } else { Ok(found.into()) }
}

fn snappy(bytes: &Bytes) -> Result<Bytes, String> {
    if !bytes.starts_with(SNAPPY_JAVA) {
        return snappy_block(bytes, MAX_BATCH).map(Bytes::from);
    }
    let (mut rest, mut found) = (&bytes[..], Vec::new());
    rest.advance((SNAPPY_JAVA.len() + 8).min(rest.len()));
    while rest.has_remaining() {
        let size = rest.try_get_i32().ok().and_then(|it| usize::try_from(it).ok());
        let block = size.and_then(|size| rest.split_off(..size)).ok_or("snappy: a block is cut")?;
        found.extend(snappy_block(block, MAX_BATCH - found.len())?);
    }
    Ok(found.into())
}

fn snappy_block(block: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let size = snap::raw::decompress_len(block).map_err(|error| format!("snappy: {error}"))?;
    if size > most {
        return Err(too_large("snappy"));
    }
    let mut decoder = snap::raw::Decoder::new();
    decoder.decompress_vec(block).map_err(|error| format!("snappy: {error}"))
}

fn too_large(name: &str) -> String {
    format!("{name}: the batch has more than {MAX_BATCH} bytes without its compression")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stagger stagger stagger` as `gzip`, `lz4` and `zstd` write it.
    const TEXT: &[u8] = b"stagger stagger stagger";

    fn plain(codec: i16, bytes: impl Into<Bytes>) -> Result<Bytes, String> {
        decompressed(codec, &bytes.into())
    }

    #[test]
    fn snappy_is_read_with_and_without_the_frame_of_java() {
        let block = snap::raw::Encoder::new().compress_vec(TEXT).expect("it is small");
        assert_eq!(plain(2, block.clone()).as_deref(), Ok(TEXT));
        let size = u32::try_from(block.len()).expect("it is small").to_be_bytes();
        let head = [SNAPPY_JAVA, &[0, 0, 0, 1, 0, 0, 0, 1]].concat();
        let framed = [&head[..], &size, &block, &size, &block].concat();
        assert_eq!(plain(2, framed.clone()).as_deref(), Ok(&[TEXT, TEXT].concat()[..]));
        assert!(plain(2, framed[..framed.len() - 1].to_vec()).is_err());
        // A length of 4 GiB that nothing follows.
        assert!(
            plain(2, vec![0xff, 0xff, 0xff, 0xff, 0x0f]).is_err_and(|it| it.contains("more than"))
        );
    }

    #[test]
    fn a_bomb_is_refused_before_it_fills_the_memory() {
        use std::io::Write;
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeroes = vec![0; 1 << 20];
        for _ in 0..65 {
            zip.write_all(&zeroes).expect("it is in memory");
        }
        let flaw = plain(1, zip.finish().expect("it is in memory")).expect_err("a bomb");
        assert!(flaw.contains("gzip: the batch has more than 67108864 bytes"), "{flaw}");
    }

    #[test]
    fn damaged_bytes_and_an_unknown_compression_are_told() {
        for (codec, name) in [(1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd"), (5, "unknown")] {
            let flaw = plain(codec, &b"nonsense"[..]).expect_err(name);
            assert!(flaw.contains(name), "{flaw}");
        }
        assert_eq!(plain(0, TEXT).as_deref(), Ok(TEXT));
    }
}
