//! The encodings that all databases share: numbers of states and verdicts, saved calls, counts.

use std::collections::BTreeMap;
use std::fmt;

use stagger::engine::Saved;
use stagger::{Instant, Span, Verdict};
use stagger_scheduler::model::{DeliveryState, EndpointId};
use uuid::Uuid;

use crate::Error;

/// The columns of a message.
pub(super) const MESSAGE: &str =
    "m.id, m.application, m.event_type, m.key, m.content_type, m.size, m.created_at, m.document";
/// The columns of a delivery.
pub(super) const DELIVERY: &str = "d.message, d.endpoint, d.application, d.state, d.due, \
     d.attempts, d.replays, d.call, d.ending, d.updated_at";
/// The columns of an attempt.
pub(super) const ATTEMPT: &str = "message, endpoint, number, started_at, latency, status, failure, \
     detail, reply, verdict, hint, next";

/// An instant, kept as its 64 bits.
pub(super) const fn from_instant(instant: Instant) -> i64 {
    instant.as_nanos().cast_signed()
}

/// The instant with these bits.
pub(super) const fn instant(bits: i64) -> Instant {
    Instant::from_nanos(bits.cast_unsigned())
}

/// A span, kept as its 64 bits.
pub(super) const fn from_span(span: Span) -> i64 {
    span.as_nanos().cast_signed()
}

/// The span with these bits.
pub(super) const fn span(bits: i64) -> Span {
    Span::from_nanos(bits.cast_unsigned())
}

/// A number of bytes or rows.
pub(super) fn from_size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The number of a state: never changed, because the stores of users have it.
pub(super) const fn state_number(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Pending => 0,
        DeliveryState::Waiting => 1,
        DeliveryState::Delivered => 2,
        DeliveryState::Dead => 3,
        DeliveryState::Cancelled => 4,
    }
}

/// The state with this number.
pub(super) fn state(number: i64) -> Result<DeliveryState, Unreadable> {
    let known =
        DeliveryState::ALL.into_iter().find(|state| i64::from(state_number(*state)) == number);
    known.ok_or_else(|| Unreadable::unknown("state", number))
}

/// The verdict of this name.
pub(super) fn verdict(name: &str) -> Result<Verdict, Unreadable> {
    let known = Verdict::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| Unreadable::unknown("verdict", name))
}

/// The first byte: how the rest is to be read.
const VERSION: u8 = 1;
const LEN: usize = 1 + 4 + 4 + 8 + 8 + 8 + 1 + 1;

const UNDER_WAY: u8 = 1;
const IDEMPOTENT: u8 = 2;

/// `saved` as bytes.
pub(super) fn encode_call(saved: &Saved) -> [u8; LEN] {
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
pub(super) fn decode_call(bytes: &[u8]) -> Option<Saved> {
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

/// A value that does not fit its column, and the reason.
#[derive(Debug)]
pub(super) struct Unreadable(String);

impl Unreadable {
    pub(super) fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }

    /// A name or number that means nothing here.
    pub(super) fn unknown(what: &'static str, value: impl fmt::Display) -> Self {
        Self(format!("unknown {what} {value}"))
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// The error on opening a store into which a copy was interrupted.
pub(super) fn cut_short() -> Error {
    Error::store("a copy into this store was interrupted: delete its contents, and copy again")
}

/// The number of states to count.
pub(super) const STATES: usize = DeliveryState::ALL.len();
/// Under this id all deliveries are counted.
pub(super) const ALL: EndpointId = EndpointId::from_uuid(Uuid::nil());

/// By how much a transaction has changed the counts.
#[derive(Debug, Default)]
pub(super) struct CountChanges {
    changes: BTreeMap<EndpointId, [i64; STATES]>,
}

impl CountChanges {
    /// A delivery to `endpoint` is in `state` now.
    pub(super) fn add(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, 1);
    }

    /// A delivery to `endpoint` is not in `state` any more.
    pub(super) fn remove(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, -1);
    }

    /// The changes, first in all, then by endpoint; unchanged numbers are left out.
    pub(super) fn take(&mut self) -> Vec<(EndpointId, [i64; STATES])> {
        let changes = std::mem::take(&mut self.changes);
        let mut all = [0; STATES];
        for by in changes.values() {
            all.iter_mut().zip(by).for_each(|(all, by)| *all += by);
        }
        let changed = |(_, by): &(EndpointId, [i64; STATES])| *by != [0; STATES];
        std::iter::once((ALL, all)).chain(changes).filter(changed).collect()
    }

    fn change(&mut self, endpoint: EndpointId, state: DeliveryState, by: i64) {
        self.changes.entry(endpoint).or_default()[state as usize] += by;
    }
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
            let bytes = encode_call(&saved);
            prop_assert_eq!(decode_call(&bytes), Some(saved));
            prop_assert_eq!(decode_call(&bytes[..LEN - 1]), None);
        }
    }
}
