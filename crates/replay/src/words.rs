//! The findings in a log and their certainty, in words.

use std::fmt::Write;

use stagger_core::Span;
use stagger_sim::BUCKET;
use stagger_text::rough_percent;

use crate::cells::BucketCounts;
use crate::excerpt::Excerpt;
use crate::open_calls::RetryEvidence;
use crate::outage::{InferredOutage, OutageKind};

/// An outage of fewer attempts than this is weak evidence.
const FEW: u32 = 30;

/// Names and values for a caption.
pub(crate) fn parameters(excerpt: &Excerpt<'_>) -> Vec<(String, String)> {
    let log = excerpt.log;
    let mut all = vec![
        ("format", log.format.to_string()),
        ("lines", log.lines.to_string()),
        ("malformed", log.malformed.to_string()),
        ("log begins", log.began.to_string()),
        ("replayed from", log.wall(excerpt.from).to_string()),
        ("replayed until", log.wall(excerpt.until).to_string()),
        ("grain of stamps", log.began.grain.to_string()),
        ("bucket", log.bucket.to_string()),
    ];
    let spans = [("service time", log.service), ("timeout", excerpt.patience())];
    all.extend(spans.into_iter().filter_map(|(name, span)| Some((name, span?.to_string()))));
    all.extend(excerpt.capacity.map(|workers| ("workers", workers.to_string())));
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The findings, their evidence, and their limits.
pub(crate) fn lesson(excerpt: &Excerpt<'_>) -> String {
    let mut text = String::new();
    let log = excerpt.log;
    for outage in excerpt.outages() {
        say(&mut text, &sentence(excerpt, outage));
    }
    if log.outages.is_empty() {
        say(
            &mut text,
            "No outage was found: policies differ in what fails anyway, and in little else.",
        );
    } else {
        say(
            &mut text,
            "An outage counts whatever failed in it, so failures that the retries themselves \
             caused lengthen it for every policy.",
        );
    }
    if log.broken.is_some() {
        say(&mut text, "The packed file breaks off, so the log goes on after what is shown.");
    }
    say(&mut text, &evidence(&log.evidence));
    if log.began.grain > BUCKET {
        let grain = log.began.grain;
        let evenly = format!(
            "Stamps are {grain} apart and were spread evenly: observed peaks are lower bounds."
        );
        say(&mut text, &evenly);
    }
    if log.stamped_at_end && log.timed == 0 {
        say(
            &mut text,
            "Stamps are of ends and there are no durations, so attempts began earlier than shown.",
        );
    }
    if let Some(busy) = concurrency(excerpt) {
        let words = format!(
            "About {busy} attempts were worked on at once on average (rate times service time)."
        );
        say(&mut text, &words);
    }
    text
}

fn sentence(excerpt: &Excerpt<'_>, outage: &InferredOutage) -> String {
    let InferredOutage { attempts, failed, edge, open, .. } = *outage;
    let kind = match outage.kind {
        OutageKind::Refused => "attempts were refused".to_owned(),
        OutageKind::Hung => "attempts hung".to_owned(),
        OutageKind::Failing(share) => {
            format!("{} of attempts failed", rough_percent(share.as_f64()))
        }
        OutageKind::Slow(times) => {
            format!("attempts took about {:.0} times as long", times.as_f64())
        }
    };
    let end = if open { ", and that went on at the end of the log" } else { "" };
    let weak = if attempts < FEW { ": weak evidence" } else { "" };
    format!(
        "From {} for {} {kind} ({failed} of {attempts} failed{weak}; edges known to {edge}){end}.",
        excerpt.log.wall(outage.from),
        outage.length(),
    )
}

fn evidence(evidence: &RetryEvidence) -> String {
    let most = evidence.number.max(evidence.id).max(evidence.guess).max(evidence.nothing);
    let mut text = if most == evidence.number {
        "Retries were told by the numbers in the log.".to_owned()
    } else if most == evidence.id {
        "Retries were told by ids in the log.".to_owned()
    } else if most == evidence.guess {
        "Retries were guessed: the same client asked for the same thing within a minute of a failure."
            .to_owned()
    } else {
        "Nothing tells retries from first attempts, so all were taken for first ones.".to_owned()
    };
    if evidence.forgotten > 0 {
        text += " Some failures had to be forgotten early, so some retries were not recognised.";
    }
    text
}

/// Little's law over the whole stretch.
fn concurrency(excerpt: &Excerpt<'_>) -> Option<u64> {
    let service = excerpt.log.service.filter(|service| *service > Span::ZERO)?;
    let served = BucketCounts::sum(excerpt.cells());
    let served = u128::from(served.attempts - served.bad());
    let length = u128::from((excerpt.until - excerpt.from).as_nanos().max(1));
    u64::try_from((served * u128::from(service.as_nanos())).div_ceil(length)).ok()
}

fn say(text: &mut String, sentence: &str) {
    let gap = if text.is_empty() { "" } else { " " };
    // Writing to a string cannot fail.
    write!(text, "{gap}{sentence}").unwrap_or_default();
}
