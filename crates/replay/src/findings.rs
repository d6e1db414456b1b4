//! The findings in a log and their certainty, in words.

use std::fmt::Write;

use stagger_core::{Ratio, Span};
use stagger_sim::BUCKET;
use stagger_text::percent;

use crate::cells::BucketCounts;
use crate::excerpt::Excerpt;
use crate::open_calls::RetryEvidence;
use crate::outage::{InferredOutage, OutageKind};
use crate::retry_law::{ObservedDelays, ObservedRetries};
use crate::verdict::{ReplayVerdict, SelfCheck};

/// An outage of fewer attempts than this is weak evidence.
const FEW: u32 = 30;

/// Names and values for a caption.
pub(crate) fn parameters(excerpt: &Excerpt<'_>) -> Vec<(String, String)> {
    let log = excerpt.log;
    let mut all = vec![
        ("format", log.format.to_string()),
        ("lines", log.lines.to_string()),
        ("malformed", log.malformed.to_string()),
        ("late", log.late.to_string()),
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
pub(crate) fn lesson(excerpt: &Excerpt<'_>, verdict: &ReplayVerdict) -> String {
    let mut text = String::new();
    let log = excerpt.log;
    if let Some(why) = &verdict.none_because {
        say(
            &mut text,
            &format!("No verdict: {why}. The rows show what follows if the fault was as given."),
        );
    }
    for outage in excerpt.outages() {
        say(&mut text, &sentence(excerpt, outage));
    }
    say(&mut text, &summary(excerpt, verdict));
    say(&mut text, &self_check(&verdict.self_check, log.retries.as_ref()));
    doubts(excerpt).iter().for_each(|doubt| say(&mut text, doubt));
    say(&mut text, &evidence(&log.evidence, log.chance_match));
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
            format!("{} of attempts failed", percent(share.as_f64()))
        }
        OutageKind::Slow(times) => {
            format!("attempts took about {:.1} times as long", times.as_f64())
        }
        OutageKind::Silent => {
            return format!(
                "From {} for {} nothing was logged: calls of that time are not replayed.",
                excerpt.log.wall(outage.from),
                outage.length()
            );
        }
    };
    let end = if open { ", and that went on at the end of the log" } else { "" };
    let weak = if attempts < FEW { ": weak evidence" } else { "" };
    let known = match outage.stated {
        true => "as stated".to_owned(),
        false => format!("edges known to {edge}"),
    };
    format!(
        "From {} for {} {kind} ({failed} of {attempts} failed{weak}; {known}){end}.",
        excerpt.log.wall(outage.from),
        outage.length(),
    )
}

/// The answer about the calls without retries, and what the outages stand for.
fn summary(excerpt: &Excerpt<'_>, verdict: &ReplayVerdict) -> String {
    let log = excerpt.log;
    if log.outages.is_empty() {
        return "No outage was found: policies differ in what fails anyway, and in little else."
            .into();
    }
    let (least, most) = verdict.no_retry_success;
    let served = percent(f64::midpoint(least, most));
    let answer = match verdict.none_because {
        None => format!("Without retries {served} of calls would have been served. "),
        Some(_) => String::new(),
    };
    let fault = match (excerpt.capacity, excerpt.fault) {
        _ if log.outages.iter().any(|outage| outage.stated) => {
            "The stated fault alone is played; what else failed came of it, or the model is wrong."
        }
        (Some(_), fault) if fault < Ratio::ONE => {
            let part = percent(fault.as_f64());
            return format!(
                "{answer}The first {part} of each outage is played as its fault, so that the observed \
                 callers in the model fare as in the log; the queue makes the rest."
            );
        }
        _ => "All of an outage is played as the backend's own fault.",
    };
    answer + fault
}

/// The observed behaviour in the model, beside the log.
fn self_check(check: &SelfCheck, retries: Option<&ObservedRetries>) -> String {
    let law = retries.map_or_else(|| "no retries".to_owned(), law);
    let [(success, of_log), (attempts, in_log)] = [check.success, check.attempts];
    format!(
        "Self-check: the observed callers ({law}) in the model have {} success ({} in the log), \
         {attempts:.2} attempts a call ({in_log:.2}), and a peak of {:.0}/s ({:.0}/s).",
        percent(success),
        percent(of_log),
        check.peak.0,
        check.peak.1,
    )
}

/// The law of the observed callers in words.
fn law(retries: &ObservedRetries) -> String {
    let delays = retries.delays.map_or_else(
        || "delays below the grain of the stamps".to_owned(),
        |ObservedDelays { base, growth, longest, jitter }| match growth {
            ..=1.0 => format!("{jitter} jitter over {base}"),
            _ => format!("{jitter} jitter from {base}, times {growth:.1}, up to {longest}"),
        },
    );
    let share = match retries.followed {
        ..0.98 => format!(", {} of failures followed", percent(retries.followed)),
        _ => String::new(),
    };
    format!("{} attempts a call, {delays}{share}", retries.attempts)
}

/// The doubts that the log leaves, one sentence each.
pub(crate) fn doubts(excerpt: &Excerpt<'_>) -> Vec<String> {
    let log = excerpt.log;
    let mut all = Vec::new();
    if log.broken.is_some() {
        all.push("The packed file breaks off, so the log goes on after what is shown.".into());
    }
    if log.late > 0 && !log.sorted {
        all.push(format!(
            "{} lines came more than 5 s late and were taken as they came, so retries may be missed.",
            log.late
        ));
    }
    if log.began.grain > BUCKET {
        let (grain, late) =
            (log.began.grain, if log.sorted { ", each node by itself" } else { "" });
        all.push(format!(
            "Stamps are {grain} apart and were spread evenly{late}: observed peaks are lower bounds."
        ));
    }
    if log.stamped_at_end && log.timed == 0 {
        all.push(
            "Stamps are of ends and there are no durations, so attempts began earlier than shown."
                .into(),
        );
    }
    if log.retries.is_none() && log.outages.iter().map(|it| it.failed).sum::<u32>() >= FEW {
        all.push(
            "No failure was followed by a retry that the log tells: callers do not retry, or their ids and \
             addresses change."
                .into(),
        );
    }
    if log.evidence.forgotten > 0 {
        all.push(
            "Some failures had to be forgotten early, so some retries were not recognised.".into(),
        );
    }
    all
}

fn evidence(evidence: &RetryEvidence, chance: Option<Ratio>) -> String {
    let most = evidence.number.max(evidence.id).max(evidence.guess).max(evidence.nothing);
    if most == evidence.number {
        "Retries were told by the numbers in the log.".to_owned()
    } else if most == evidence.id {
        "Retries were told by ids in the log.".to_owned()
    } else if most == evidence.guess {
        let chance = chance.map_or_else(String::new, |rate| {
            format!(
                " In healthy time {} of served requests are followed so by chance: as many failures may \
                 have got a retry that is none.",
                percent(rate.as_f64())
            )
        });
        format!(
            "Retries were guessed: the same client asked for the same thing within a minute of a failure.\
             {chance}"
        )
    } else {
        "Nothing tells retries from first attempts, so all were taken for first ones.".to_owned()
    }
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
