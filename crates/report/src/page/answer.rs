//! The answer in words, from the figures of one case: who has the lowest peak, what it costs, who
//! comes back and who never does. A sentence is left out rather than said with nothing behind it.

use stagger_core::Instant;
use stagger_sim::{CaseReport, EntryReport, Peak, RecoveryVerdict, Stat, StormReport};
use stagger_text::percent;

use super::swept::{capital, listed, name};
use crate::numbers::{grouped, number, seconds};
use crate::pictures::Varied;
use crate::style::NO_RETRY;

/// Shares of calls that differ by less are called the same.
const SAME_SHARE: f64 = 0.005;
/// Means that differ by a smaller part are called the same.
const SAME_PART: f64 = 0.02;
/// A row that serves a smaller part of what the best row serves has not come through the storm: its
/// time to recover says only how soon its callers gave up.
const NEAR_BEST: f64 = 0.9;
/// Less waste than this is not worth a sentence.
const WASTE: f64 = 0.01;

/// The sentences about one case, the most telling first.
pub(super) fn answer(report: &StormReport, case: &CaseReport) -> Vec<String> {
    let retrying: Vec<&EntryReport> = case.rows.iter().filter(|row| row.name != NO_RETRY).collect();
    if retrying.is_empty() {
        return vec!["No row retries here, so there is nothing to compare.".into()];
    }
    if Varied::of(report).is_some_and(|varied| varied.is_failures()) {
        return [gain(case, &retrying), frugal(&retrying)].into_iter().flatten().collect();
    }
    let sentences = [
        never(case, &retrying),
        relapsed(&retrying),
        peak(report, case, &retrying),
        success(&retrying),
        quickest(case, &retrying),
        without(case),
        waste(&retrying),
        work(&retrying),
    ];
    sentences.into_iter().flatten().collect()
}

/// The row with the lowest peak, and how many times less that is than without jitter.
fn peak(report: &StormReport, case: &CaseReport, retrying: &[&EntryReport]) -> Option<String> {
    let retrying = counted(retrying);
    let lowest = lowest(&retrying, |row| row.peak.mean)?;
    if retrying.len() < 2 {
        return None;
    }
    let events = match report.peak {
        Peak::Attempts => "attempts",
        Peak::Served => "calls served",
    };
    let height = grouped(lowest.peak.mean);
    let all_alike = retrying.iter().all(|row| peak_alike(lowest, row));
    if all_alike {
        return Some(format!(
            "All who retry have about the same peak, {height} {events} a second: jitter makes no \
             difference to it here."
        ));
    }
    let near: Vec<&str> = retrying
        .iter()
        .filter(|row| row.name != lowest.name && peak_alike(lowest, row))
        .map(|row| row.name.as_str())
        .collect();
    if lowest.name == "none" && !near.is_empty() {
        let near = listed(&near);
        return Some(format!(
            "Jitter makes no difference to the peak here: un-jittered backoff has {height} {events} \
             a second, and {near} about as many."
        ));
    }
    let mut text = match case.times_unjittered(lowest) {
        Some(_) if lowest.name == "none" => format!(
            "Jitter does not lower the peak here: un-jittered backoff itself has the lowest peak, \
             {height} {events} a second"
        ),
        Some(times) if times > 0.0 => format!(
            "Of those who retry, {} has the lowest peak: {height} {events} a second, {} times less \
             than un-jittered backoff",
            name(&lowest.name),
            number(1.0 / times)
        ),
        _ => format!(
            "Of those who retry, {} has the lowest peak: {height} {events} a second",
            name(&lowest.name)
        ),
    };
    if !near.is_empty() {
        let are = if near.len() == 1 { "is" } else { "are" };
        text += &format!("; within the error of the means {} {are} as low", listed(&near));
    }
    Some(text + ".")
}

/// Those whose peak counts: who gives up at once, or serves half as many as another, has no low peak.
fn counted<'a>(retrying: &[&'a EntryReport]) -> Vec<&'a EntryReport> {
    let best = retrying.iter().map(|row| row.success).fold(0.0, f64::max);
    let counts =
        |row: &&EntryReport| row.peak.mean > 0.0 && row.success > 0.0 && row.success * 2.0 >= best;
    retrying.iter().copied().filter(counts).collect()
}

/// Whether two means, each over so many runs, differ by less than twice the standard error of their
/// difference, or by so little that it does not matter.
fn alike((a, runs_of_a): (Stat, u64), (b, runs_of_b): (Stat, u64)) -> bool {
    let square_error = |stat: Stat, runs: u64| stat.sd * stat.sd / float(runs.max(1));
    let error = (square_error(a, runs_of_a) + square_error(b, runs_of_b)).sqrt();
    let apart = (a.mean - b.mean).abs();
    apart <= 2.0 * error || apart <= SAME_PART * a.mean.max(b.mean)
}

/// OK because no storm has 2^53 runs.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
const fn float(runs: u64) -> f64 {
    runs as f64
}

/// Whether two rows have the same peak, as far as their runs can tell.
fn peak_alike(a: &EntryReport, b: &EntryReport) -> bool {
    alike((a.peak, a.runs), (b.peak, b.runs))
}

/// The row with the most successful calls, if not all rows serve all.
fn success(retrying: &[&EntryReport]) -> Option<String> {
    let best = highest(retrying, |row| row.success)?.success;
    let worst = lowest(retrying, |row| row.success)?;
    let lowest_peak = lowest(&counted(retrying), |row| row.peak.mean);
    if best <= 0.0 {
        return Some("No call succeeds under any policy: all run out of attempts first.".into());
    }
    if best - worst.success < SAME_SHARE {
        let (least, share) = (percent(worst.success), percent(best));
        let shares = if least == share { share } else { format!("{least} to {share}") };
        return (retrying.len() > 1)
            .then(|| format!("All who retry serve {shares} of their calls."));
    }
    let same = |row: &&&EntryReport| best - row.success < SAME_SHARE;
    let winners: Vec<&str> = retrying.iter().filter(same).map(|row| row.name.as_str()).collect();
    let share = percent(best);
    let (loser, least) = (name(&worst.name), percent(worst.success));
    let text = format!(
        "Most calls succeed with {}: {share}; fewest with {loser}: {least}.",
        listed(&winners)
    );
    match lowest_peak {
        Some(row) if best - row.success >= SAME_SHARE && row.name != worst.name => {
            let own = percent(row.success);
            let name = name(&row.name);
            Some(format!("{text} The lowest peak has its price: {name} serves {own}."))
        }
        _ => Some(text),
    }
}

/// The rows that recover first and last.
fn quickest(case: &CaseReport, retrying: &[&EntryReport]) -> Option<String> {
    let through = |row: &&EntryReport| healed_mostly(row) && is_near_best(case, row);
    let healed: Vec<&EntryReport> = retrying.iter().copied().filter(through).collect();
    let (first, last) = (lowest(&healed, recovery)?, highest(&healed, recovery)?);
    let (soon, late) = (recovery(first), recovery(last));
    if healed.len() < 2 || late <= 0.0 || alike(took(first), took(last)) {
        return None;
    }
    let times = match soon > 0.0 && late / soon >= 1.5 {
        true => format!(", {} times as long", number(late / soon)),
        false => String::new(),
    };
    Some(format!(
        "{} is done first, {}; {} takes {}{times}.",
        name(&first.name),
        if soon > 0.0 { format!("after {}", seconds(soon)) } else { "at once".into() },
        name(&last.name),
        seconds(late)
    ))
}

/// The rows that never recover.
fn never(case: &CaseReport, retrying: &[&EntryReport]) -> Option<String> {
    let heals = case.rows.iter().any(healed_mostly);
    let stuck = names(retrying, RecoveryVerdict::Never);
    let over = case.outages.iter().any(|&(_, until)| until < Instant::FAR);
    if stuck.is_empty() || !heals || !over {
        return None;
    }
    let never = if stuck.len() == 1 { "never recovers" } else { "never recover" };
    Some(format!(
        "{} {never}: after the outage the retries alone keep the backend down.",
        listed(&stuck)
    ))
}

/// Entries that seemed to recover and failed again.
fn relapsed(retrying: &[&EntryReport]) -> Option<String> {
    let names = names(retrying, RecoveryVerdict::Relapsed);
    let (seem, fail) = if names.len() == 1 { ("seems", "fails") } else { ("seem", "fail") };
    (!names.is_empty()).then(|| {
        format!(
            "{} {seem} to recover and then {fail} again: a later wave of retries brings the outage back.",
            listed(&names)
        )
    })
}

/// The entries with calls that succeed and with this verdict.
fn names<'a>(retrying: &[&'a EntryReport], verdict: RecoveryVerdict) -> Vec<&'a str> {
    let rows = retrying.iter();
    rows.filter(|row| row.runs > 0 && row.success > 0.0 && row.verdict() == verdict)
        .map(|row| row.name.as_str())
        .collect()
}

/// Whether this row serves nearly as many calls as the best of its case.
fn is_near_best(case: &CaseReport, row: &EntryReport) -> bool {
    let best = case.rows.iter().map(|row| row.success).fold(0.0, f64::max);
    row.success >= best * NEAR_BEST
}

/// The row that never retries.
fn without(case: &CaseReport) -> Option<String> {
    let row = case.rows.iter().find(|row| row.name == NO_RETRY)?;
    let share = percent(row.success);
    if row.success <= 0.0 {
        return Some("Without retries no call succeeds.".into());
    }
    let back = (healed_mostly(row) && recovery(row) > 0.0 && is_near_best(case, row))
        .then(|| format!(", and all is well again after {}", seconds(recovery(row))));
    Some(format!("Without retries {share} of the calls succeed{}.", back.unwrap_or_default()))
}

/// The share of work that is done for callers that have gone.
fn waste(retrying: &[&EntryReport]) -> Option<String> {
    let (most, least) = (highest(retrying, |row| row.wasted)?, lowest(retrying, |row| row.wasted)?);
    if most.wasted < WASTE {
        return None;
    }
    let (name_of_most, share) = (name(&most.name), percent(most.wasted));
    let best = match most.wasted - least.wasted > SAME_SHARE {
        true => format!("; with {} it is {}", name(&least.name), percent(least.wasted)),
        false => String::new(),
    };
    Some(format!(
        "With {name_of_most}, {share} of what the backend finishes is for callers who no longer wait{best}."
    ))
}

/// The row with the most attempts.
fn work(retrying: &[&EntryReport]) -> Option<String> {
    let (most, least) =
        (highest(retrying, |row| row.amplification)?, lowest(retrying, |row| row.amplification)?);
    if most.amplification < least.amplification * 1.05 {
        return None;
    }
    Some(format!(
        "Attempts a call at the backend: {} with {}, {} with {}.",
        number(least.amplification),
        name(&least.name),
        number(most.amplification),
        name(&most.name)
    ))
}

/// The calls that retries save when attempts fail at random.
fn gain(case: &CaseReport, retrying: &[&EntryReport]) -> Option<String> {
    let best = highest(retrying, |row| row.success)?;
    if best.success <= 0.0 {
        return Some("No call succeeds, however often it is tried.".into());
    }
    let (success, load) = (percent(best.success), number(best.amplification));
    let none = case.rows.iter().find(|row| row.name == NO_RETRY);
    let from = none.map(|row| format!(", from {} without retries", percent(row.success)));
    Some(format!(
        "Most calls get through with {}: {success}{}, for {load} attempts a call.",
        name(&best.name),
        from.unwrap_or_default()
    ))
}

/// The rows that add at most a tenth of load.
fn frugal(retrying: &[&EntryReport]) -> Option<String> {
    const TENTH: f64 = 1.12;
    let within: Vec<&EntryReport> =
        retrying.iter().copied().filter(|row| row.amplification <= TENTH).collect();
    if retrying.iter().all(|row| row.success <= 0.0) {
        return None;
    }
    if within.is_empty() {
        return Some(
            "No entry keeps the load within a tenth more than what the calls alone make.".into(),
        );
    }
    if within.len() == retrying.len() {
        return None;
    }
    let names: Vec<&str> = within.iter().map(|row| row.name.as_str()).collect();
    let best = highest(&within, |row| row.success)?;
    let keep = if names.len() == 1 { "keeps" } else { "keep" };
    Some(format!(
        "{} {keep} the load within about a tenth more; of these, {} gets the most through: {}.",
        listed(&names),
        name(&best.name),
        percent(best.success)
    ))
}

fn healed_mostly(row: &EntryReport) -> bool {
    row.recovery.healed > 0 && row.recovery.healed * 2 >= row.runs
}

/// The time to recover, and the runs behind it.
const fn took(row: &EntryReport) -> (Stat, u64) {
    (row.recovery.seconds, row.recovery.healed)
}

fn recovery(row: &EntryReport) -> f64 {
    row.recovery.seconds.mean
}

fn lowest<'a>(rows: &[&'a EntryReport], value: fn(&EntryReport) -> f64) -> Option<&'a EntryReport> {
    rows.iter().copied().min_by(|a, b| value(a).total_cmp(&value(b)))
}

fn highest<'a>(
    rows: &[&'a EntryReport],
    value: fn(&EntryReport) -> f64,
) -> Option<&'a EntryReport> {
    // The first of equals, as `min_by` gives it.
    rows.iter().copied().rev().max_by(|a, b| value(a).total_cmp(&value(b)))
}

/// The label of a case as the head of its sentences.
pub(super) fn head(case: &CaseReport) -> String {
    capital(&case.label)
}
