//! gRPC's own figures of retries (gRFC A96), for recorders of `metrics`.

use metrics::{Label, Unit, describe_histogram, histogram};
use stagger_core::Span;

const RETRIES: &str = "grpc.client.call.retries";
const TRANSPARENT_RETRIES: &str = "grpc.client.call.transparent_retries";
const HEDGES: &str = "grpc.client.call.hedges";
const RETRY_DELAY: &str = "grpc.client.call.retry_delay";

/// The attempts of one call beyond its first, by their kinds, and the time between attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrpcAttempts {
    pub(crate) retries: u32,
    pub(crate) transparent_retries: u32,
    pub(crate) hedges: u32,
    pub(crate) retry_delay: Span,
}

pub(super) fn describe() {
    describe_histogram!(RETRIES, Unit::Count, "Retries of calls that had any");
    describe_histogram!(TRANSPARENT_RETRIES, Unit::Count, "Transparent retries of such calls");
    describe_histogram!(HEDGES, Unit::Count, "Hedges of calls that had any");
    describe_histogram!(RETRY_DELAY, Unit::Seconds, "Time of a call without an active attempt");
}

/// Records a call that has ended. What is zero is not recorded, as A96 has it.
pub(crate) fn grpc_call(method: String, target: String, attempts: &GrpcAttempts) {
    let labels = vec![Label::new("grpc.method", method), Label::new("grpc.target", target)];
    let GrpcAttempts { retries, transparent_retries, hedges, retry_delay } = *attempts;
    let counts = [(RETRIES, retries), (TRANSPARENT_RETRIES, transparent_retries), (HEDGES, hedges)];
    for (name, count) in counts {
        if count > 0 {
            histogram!(name, labels.clone()).record(count);
        }
    }
    if !retry_delay.is_zero() {
        histogram!(RETRY_DELAY, labels).record(retry_delay.as_secs_f64());
    }
}
