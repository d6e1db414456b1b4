//! Whether a fault can be told from what the retries caused.
//!
//! Retries multiply the attempts on a backend that is down, and may keep it down when it is well again. In
//! a log both look alike. They are told apart where there were hardly any retries, where the
//! backend refused nearly everything immediately (one that is overloaded serves as many as it can), where
//! it served as much right after the outage as had come during it, or where it showed no sign of
//! overload: it served a part as fast as usual, and no more of them than usual.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::BUCKET;

use crate::access_log::AccessLog;
use crate::cells::BucketCounts;
use crate::durations;
use crate::outage::{InferredOutage, OutageKind};

/// Attempts a call below which retries are too few to keep a backend down.
const FEW_RETRIES: f64 = 1.1;
/// The failing share from which on nearly everything was refused.
const NEARLY_ALL: Ratio = Ratio::from_percent(95);
/// The part of what came during the outage that is served right after it.
const SERVED_AGAIN: f64 = 0.8;
/// More than this part of the usual traffic is a backend at its limit.
const MORE: f64 = 1.1;
/// Attempts in a window of the comparison: with an error of a tenth.
const WINDOW: f64 = 100.0;
/// The shortest window.
const SHORTEST: Span = Span::from_millis(500);
/// The time after an outage in which its load is served again.
const AFTER: Span = Span::from_secs(5);

/// Whether the failures of this outage were the backend's own.
pub(crate) fn is_fault(log: &AccessLog, outage: &InferredOutage) -> bool {
    let within = log.cells.within(outage.from, outage.until);
    let sum = BucketCounts::sum(within);
    let is_refused = outage.kind == OutageKind::Refused && sum.failing() >= NEARLY_ALL;
    outage.stated
        || !outage.has_failures()
        || f64::from(sum.attempts) < FEW_RETRIES * f64::from(sum.firsts.max(1))
        || is_refused
        || (!outage.open && is_load_served(log, outage, &sum))
        || is_unhurried(log, outage, &sum)
}

/// Whether part of the attempts failed soon, while the others were served as fast as usual and at most as
/// many of them as usual: a full queue makes all slow, and one that sheds load serves more than usual.
fn is_unhurried(log: &AccessLog, outage: &InferredOutage, sum: &BucketCounts) -> bool {
    let second = |at: Instant| usize::try_from((at - Instant::ORIGIN).as_nanos() / 1_000_000_000);
    let (Ok(from), Ok(until)) = (second(outage.from), second(outage.until)) else { return false };
    let seconds = log.cells.seconds();
    let until = (until + 1).min(seconds.len());
    let is_partial = matches!(outage.kind, OutageKind::Failing(_)) && sum.hung < sum.failed;
    let (Some(within), true) = (seconds.get(from..until), is_partial) else { return false };
    let others = seconds[..from].iter().chain(&seconds[until..]);
    let medians = (durations::median(within.iter()), durations::median(others));
    let (Some(within), Some(usual)) = medians else { return false };
    let all = BucketCounts::sum(log.cells.all());
    let healthy = f64::from(all.firsts - sum.firsts);
    let rest = (log.cells.end() - Instant::ORIGIN).as_secs_f64() - outage.length().as_secs_f64();
    let served = f64::from(sum.attempts - sum.bad()) / outage.length().as_secs_f64();
    within <= usual.saturating_mul(2) && rest > 0.0 && served <= MORE * healthy / rest
}

/// Whether the backend served soon after the outage what came to it during the outage, on average.
fn is_load_served(log: &AccessLog, outage: &InferredOutage, sum: &BucketCounts) -> bool {
    let during = f64::from(sum.attempts) / outage.length().as_secs_f64();
    let length = seconds(WINDOW / during.max(1.0)).max(SHORTEST);
    let steps = length.as_nanos().div_ceil(BUCKET.as_nanos());
    let last = AFTER.as_nanos() / BUCKET.as_nanos();
    (0..last).any(|step| {
        let from: Instant = outage.until + BUCKET.saturating_mul(step);
        let until = from + BUCKET.saturating_mul(steps);
        let window = BucketCounts::sum(log.cells.within(from, until));
        let served = f64::from(window.attempts - window.bad());
        served >= SERVED_AGAIN * during * (until - from).as_secs_f64()
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn seconds(value: f64) -> Span {
    // OK because a cast from float to integer saturates.
    Span::from_micros((value * 1e6).round() as u64)
}
