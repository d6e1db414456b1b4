//! Reports for people.

use std::fmt::Write as _;

use stagger_text::{SPACE, grouped, percent};
use stagger_watch::{
    AttemptEvidence, BudgetAdvice, LayerFactors, StormSummary, StormVerdict, Synchrony, TopSource,
    WatchEvent,
};

use super::figures::WatchFigures;

/// The text of an event, with the end of its last line.
pub(super) fn event(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Began(verdict) => began(verdict),
        WatchEvent::Continues(verdict) => {
            format!("{}  the storm goes on: {}\n", verdict.until, figures(verdict))
        }
        WatchEvent::Ended(summary) => ended(summary),
    }
}

/// The counts at the end.
pub(super) fn end(figures: &WatchFigures) -> String {
    let count = |number: u64| stagger_text::whole(number, SPACE);
    let mut text = format!("{} storms", count(figures.storms));
    let Some(totals) = figures.totals else {
        let _ = writeln!(text, " in {} looks at the counters", count(figures.lines));
        return text;
    };
    let _ = writeln!(
        text,
        " in {} attempts: {} lines, {} malformed, {} out of time, {} jumps of the clock",
        count(totals.attempts),
        count(figures.lines),
        count(figures.malformed),
        count(totals.out_of_time),
        count(totals.jumps),
    );
    text
}

fn began(verdict: &StormVerdict) -> String {
    let mut text = format!("{}  RETRY STORM: {}\n", verdict.until, figures(verdict));
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<9} {what}");
    };
    line("evidence", evidence(verdict));
    line("layers", layers(&verdict.layers));
    line("peaks", peaks(verdict.synchrony.as_ref()));
    line("clients", sources(&verdict.clients));
    line("routes", sources(&verdict.routes));
    line("budget", budget(verdict.budget.as_ref()));
    text
}

fn ended(summary: &StormSummary) -> String {
    let StormSummary { began, ended, worst } = summary;
    format!(
        "{ended}  the storm that was seen at {began} is over: at worst {worst:.2} attempts a call\n"
    )
}

fn figures(verdict: &StormVerdict) -> String {
    let estimate = &verdict.estimate;
    let mut text = format!("{:.2} attempts a call", estimate.attempts_a_call());
    if estimate.error > 0.0 {
        let _ = write!(text, " (at least {:.2})", estimate.at_least());
    }
    let (attempts, calls) = (grouped(estimate.attempts, SPACE), grouped(estimate.calls, SPACE));
    let _ = write!(text, " in the last {} s: {attempts} attempts, {calls} calls", verdict.seconds);
    if let Some(failing) = verdict.failing {
        let _ = write!(text, ", {} failed", percent(failing));
    }
    text
}

fn evidence(verdict: &StormVerdict) -> String {
    let mut text = match verdict.estimate.evidence {
        AttemptEvidence::Number => "the number of the attempt, or counters of both",
        AttemptEvidence::Id => "ids that all attempts of a call share",
        AttemptEvidence::Guess => {
            "a guess: clients ask again after a failure more often than after a success"
        }
        AttemptEvidence::Nothing => "none: retries cannot be told from calls",
    }
    .to_owned();
    if verdict.one_in > 1 {
        let _ = write!(text, "; one caller in {} is followed", verdict.one_in);
    }
    text
}

fn layers(layers: &LayerFactors) -> String {
    if layers.are_unknown() {
        return "not known: the log has no number of the attempt".to_owned();
    }
    let named = [
        ("layers further out", layers.further_out),
        ("callers", layers.callers),
        ("the proxy", layers.proxy),
    ];
    let told = named.map(|(name, factor)| match factor {
        Some(factor) => format!("{name} x{factor:.2}"),
        None => format!("{name} not known"),
    });
    told.join(", ")
}

fn peaks(synchrony: Option<&Synchrony>) -> String {
    let Some(synchrony) = synchrony else {
        return "not known: stamps are too coarse or attempts too few".to_owned();
    };
    let verdict = if synchrony.is_synchronous() { "attempts come together" } else { "no peaks" };
    format!(
        "{verdict}: dispersion {:.2} in 50 ms, by chance up to {:.2}; the largest is {:.1} times the mean",
        synchrony.dispersion, synchrony.threshold, synchrony.peak,
    )
}

fn sources(sources: &[TopSource]) -> String {
    if sources.is_empty() {
        return "none with 1 % of the retries, or not in the log".to_owned();
    }
    let named = sources.iter().map(|source| format!("{} {}", source.name, percent(source.share)));
    format!("{} of the retries", named.collect::<Vec<_>>().join(", "))
}

fn budget(advice: Option<&BudgetAdvice>) -> String {
    let Some(advice) = advice else {
        return "not known: counters do not say what the server can serve".to_owned();
    };
    let [calls, retries, served] =
        [advice.calls, advice.retries, advice.most_served].map(|rate| grouped(rate, SPACE));
    match (advice.ratio, advice.allowed()) {
        (Some(ratio), Some(allowed)) => format!(
            "{} of calls lets {} of {retries} retries a second pass: {:.2} attempts a call",
            percent(ratio),
            grouped(allowed, SPACE),
            1.0 + ratio,
        ),
        _ => format!(
            "none is enough: {calls} calls a second are more than the {served} that were ever served"
        ),
    }
}
