//! The engine's state of a call as a few bytes: only deliveries that have failed have one.

use stagger::Span;
use stagger::retry::Saved;

/// The first byte: how the rest is to be read.
const VERSION: u8 = 1;
const LEN: usize = 1 + 4 + 4 + 8 + 8 + 8 + 1 + 1;

const UNDER_WAY: u8 = 1;
const IDEMPOTENT: u8 = 2;

/// `saved` as bytes.
pub(super) fn encode(saved: &Saved) -> [u8; LEN] {
    let mut bytes = [VERSION; LEN];
    bytes[1..5].copy_from_slice(&saved.attempts.to_le_bytes());
    bytes[5..9].copy_from_slice(&saved.retries.to_le_bytes());
    bytes[9..17].copy_from_slice(&saved.elapsed.as_nanos().to_le_bytes());
    bytes[17..25].copy_from_slice(&saved.wait.as_nanos().to_le_bytes());
    bytes[25..33].copy_from_slice(&saved.prev.as_nanos().to_le_bytes());
    bytes[33] = saved.spent;
    bytes[34] =
        if saved.under_way { UNDER_WAY } else { 0 } | if saved.idempotent { IDEMPOTENT } else { 0 };
    bytes
}

/// Decodes `bytes`; `None` if they were not written by [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Option<Saved> {
    let (&VERSION, mut rest) = bytes.split_first()? else { return None };
    let saved = Saved {
        attempts: u32::from_le_bytes(take(&mut rest)?),
        retries: u32::from_le_bytes(take(&mut rest)?),
        elapsed: Span::from_nanos(u64::from_le_bytes(take(&mut rest)?)),
        wait: Span::from_nanos(u64::from_le_bytes(take(&mut rest)?)),
        prev: Span::from_nanos(u64::from_le_bytes(take(&mut rest)?)),
        spent: take::<1>(&mut rest)?[0],
        under_way: rest.first()? & UNDER_WAY != 0,
        idempotent: rest.first()? & IDEMPOTENT != 0,
    };
    (rest.len() == 1).then_some(saved)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_saved_call_comes_back_as_it_was(
            (attempts, retries, spans, spent, under_way, idempotent) in
                any::<(u32, u32, [u64; 3], u8, bool, bool)>()
        ) {
            let [elapsed, wait, prev] = spans.map(Span::from_nanos);
            let saved =
                Saved { attempts, retries, elapsed, wait, prev, spent, under_way, idempotent };
            let bytes = encode(&saved);
            prop_assert_eq!(decode(&bytes), Some(saved));
            prop_assert_eq!(decode(&bytes[..LEN - 1]), None);
        }
    }
}
