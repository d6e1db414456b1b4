//! Base64 of RFC 4648 section 4, as RFC 9651 section 4.2.7 wants it read.

use alloc::string::String;
use alloc::vec::Vec;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Reads base64; missing padding and bits set in the padding are let pass.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|&b| b != b'=').map_or(0, |last| last + 1);
    let (text, padding) = text.split_at_checked(end)?;
    let missing = (4 - text.len() % 4) % 4;
    if missing == 3 || !(padding.is_empty() || padding.len() == missing) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for quad in text.chunks(4) {
        decode_quad(quad, &mut bytes)?;
    }
    Some(bytes)
}

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for triple in bytes.chunks(3) {
        let bits = triple.iter().fold(0_u32, |bits, &b| bits << 8 | u32::from(b));
        let bits = bits << (8 * (3 - triple.len()));
        let signs = [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 63) as usize]);
        let kept = triple.len() + 1;
        text.extend(signs[..kept].iter().map(|&sign| char::from(sign)));
        text.extend((kept..4).map(|_| '='));
    }
    text
}

/// Two to four signs are one to three bytes.
fn decode_quad(quad: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let mut bits = 0_u32;
    for &sign in quad {
        bits = bits << 6 | value(sign)?;
    }
    let bits = bits << (6 * (4 - quad.len()));
    let [_, triple @ ..] = bits.to_be_bytes();
    bytes.extend_from_slice(&triple[..quad.len() - 1]);
    Some(())
}

fn value(sign: u8) -> Option<u32> {
    Some(match sign {
        b'A'..=b'Z' => u32::from(sign - b'A'),
        b'a'..=b'z' => u32::from(sign - b'a') + 26,
        b'0'..=b'9' => u32::from(sign - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
