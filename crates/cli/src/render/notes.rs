//! The words around a table: what was played, and how to read it.

use stagger_sim::{Poisson, Tutorial};

use super::storm::Storm;
use super::table::Window;

/// Scenario, seed and options.
pub(super) fn heading(storm: &Storm<'_>) -> String {
    let report = storm.report();
    let schedule = &report.schedule;
    let what = match storm {
        Storm::Lockstep(scenario, _) => format!(
            "{} callers fail together at 0s; the server is up at {}",
            scenario.callers, scenario.up_at
        ),
        Storm::Tutorial(scenario, _) => format!(
            "{} callers, one every spacing; 503 from {} to {}",
            scenario.callers,
            Tutorial::DOWN_FROM,
            Tutorial::DOWN_UNTIL
        ),
        Storm::Poisson(..) => format!(
            "{} callers a second for {}, in a Poisson process; 503 from {} on",
            Poisson::RATE,
            Poisson::LENGTH,
            Poisson::DOWN_FROM
        ),
    };
    format!(
        "storm {}: {what}\nseed {}, {} runs, {} attempts, base {}, cap {}",
        storm.name(),
        report.seed,
        report.runs,
        schedule.attempts,
        schedule.base,
        schedule.cap
    )
}

/// How to read the columns, and what the scenario shows.
pub(super) fn reading(storm: &Storm<'_>) -> String {
    let peak = match storm {
        Storm::Lockstep(scenario, _) => format!(
            "peak/s    attempts a second in the fullest 50 ms from {} on; mean and sd of one run",
            scenario.up_at
        ),
        _ => "peak/s    calls served a second in the fullest 50 ms; mean and sd of one run"
            .to_owned(),
    };
    let columns = "× none    that peak over the peak of un-jittered exponential backoff\n\
                   attempts  attempts a call, the first included";
    format!("{peak}\n{columns}\n{}\n\n{}", arrivals(storm), lesson(storm))
}

fn arrivals(storm: &Storm<'_>) -> String {
    let mut cases: Vec<_> = storm.report().rows.iter().map(|row| row.case).collect();
    cases.dedup();
    let windows = cases.iter().map(|&case| (case, Window::of(storm, case)));
    let axes: Vec<String> = match storm {
        Storm::Poisson(..) => windows.map(|(case, w)| format!("{} at {case}", w.bar())).collect(),
        _ => windows.take(1).map(|(_, window)| window.bar().to_string()).collect(),
    };
    let start = cases
        .first()
        .map_or_else(String::new, |&case| format!(" from {} on", Window::of(storm, case).start()));
    let scale = if storm.case().is_some() { "one scale for a case" } else { "one scale for all" };
    format!("arrivals  attempts over time{start}, {scale}; one bar is {}", axes.join(", "))
}

const fn lesson(storm: &Storm<'_>) -> &'static str {
    match storm {
        Storm::Lockstep(..) => {
            "Callers that failed together and wait without jitter come back together. Jitter spreads\n\
             them, but it also shortens the waiting in all: with a longer outage (try --up-at 1s) the\n\
             jittered laws run out of attempts before the others do."
        }
        Storm::Tutorial(..) => {
            "A popular tutorial reports 540 (no retry), 4380 (no jitter), 1820 (equal) and 720 (full) for\n\
             this script. It cannot: at exactly 2 ms the last caller is gone 2 ms before the outage, so\n\
             nobody fails at all. A real loop of 2 ms sleeps runs slower and meets the outage, but 0.2 s\n\
             of 500 callers a second is 100 failures, and 25 more arrive in 50 ms: 125 calls, 2500 a\n\
             second, is the most that any law could ever serve. And callers that fail one after the\n\
             other are never in step, so there is no crowd for jitter to spread: it shortens their waits\n\
             and folds them into those of others, which makes its peak the higher one here."
        }
        Storm::Poisson(..) => {
            "The no-retry row is the noise of the arrivals alone: read the others against it. Callers\n\
             that were never in step do not come back in step, so here the laws differ little. After a\n\
             long outage each bucket holds what 500 callers a second bring times up to 6 attempts: 3000."
        }
    }
}
