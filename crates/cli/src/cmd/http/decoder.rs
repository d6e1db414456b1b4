//! The content coding of a body (RFC 9110 section 8.4): gzip, or none.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// A body on its way out of its coding, piece by piece.
#[derive(Debug)]
pub(super) enum ContentDecoder {
    /// Its bytes are the body.
    Identity,
    /// Boxed because its window takes some 40 KiB.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl ContentDecoder {
    /// The decoder for a reply with these headers.
    ///
    /// # Errors
    /// A coding that was not asked for, by its name.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, String> {
        let codings: Vec<_> = headers.get_all(CONTENT_ENCODING).iter().collect();
        match codings.as_slice() {
            [] => Ok(Self::Identity),
            [coding] => match coding.as_bytes().to_ascii_lowercase().as_slice() {
                b"identity" | b"" => Ok(Self::Identity),
                b"gzip" | b"x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
                _ => Err(String::from_utf8_lossy(coding.as_bytes()).into_owned()),
            },
            _ => Err("several".to_owned()),
        }
    }

    /// The bytes of the body that a piece holds.
    ///
    /// # Errors
    /// A piece that is not of the coding.
    pub(super) fn decode(&mut self, piece: Bytes) -> io::Result<Bytes> {
        match self {
            Self::Identity => Ok(piece),
            Self::Gzip(decoder) => {
                decoder.write_all(&piece)?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }

    /// The rest at the end of the body.
    ///
    /// # Errors
    /// A body that ends in the middle of its coding.
    pub(super) fn finish(&mut self) -> io::Result<Bytes> {
        match self {
            Self::Identity => Ok(Bytes::new()),
            Self::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn coded(coding: &'static str) -> HeaderMap {
        [(CONTENT_ENCODING, coding.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_body_in_pieces_or_cut_short_was_decoded_wrong() {
        let text = b"one line of text after another\n".repeat(1_000);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let zipped = encoder.finish().unwrap();
        for size in [1, 7, zipped.len()] {
            let mut decoder = ContentDecoder::of(&coded("GZIP")).unwrap();
            let mut out = Vec::new();
            for piece in zipped.chunks(size) {
                out.extend(decoder.decode(Bytes::copy_from_slice(piece)).unwrap());
            }
            out.extend(decoder.finish().unwrap());
            assert!(out == text, "in pieces of {size}");
        }
        let mut decoder = ContentDecoder::of(&coded("gzip")).unwrap();
        decoder.decode(Bytes::copy_from_slice(&zipped[..zipped.len() / 2])).unwrap();
        assert!(decoder.finish().is_err(), "half of it is no body");
        assert!(
            ContentDecoder::of(&coded("gzip"))
                .unwrap()
                .decode(Bytes::from_static(b"plain text"))
                .is_err()
        );
        assert_eq!(ContentDecoder::of(&coded("br")).unwrap_err(), "br");
    }
}
