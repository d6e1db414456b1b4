//! Names, endpoints and answers for tests.

use std::num::NonZeroU32;

use stagger_core::{Instant, Span};
use stagger_scheduler::model::{
    ApplicationId, AttemptAnswer, AttemptFailure, Endpoint, EndpointId, MessageId,
};
use uuid::Uuid;

pub(crate) const APP: ApplicationId = ApplicationId::from_uuid(Uuid::from_u128(1));

/// Milliseconds into the tests' time, which begins when a real clock would be long past its origin.
pub(crate) fn at(millis: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(1_700_000_000) + Span::from_millis(millis)
}

pub(crate) fn slots(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("a test has slots")
}

pub(crate) fn message(n: u128) -> MessageId {
    MessageId::from_uuid(Uuid::from_u128(n))
}

pub(crate) fn endpoint_id(n: u128) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(n))
}

/// The settings of an endpoint with the defaults of the dispatcher.
pub(crate) fn endpoint(n: u128) -> Endpoint {
    Endpoint::new(endpoint_id(n), APP, "https://example.com/", at(0))
}

pub(crate) fn answer(result: Result<u16, AttemptFailure>) -> AttemptAnswer {
    AttemptAnswer { result, ..AttemptAnswer::not_made() }
}
