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
        "storm {}: {what}\nseed {}, {}, {} attempts, base {}, cap {}",
        storm.name(),
        report.seed,
        runs(report.runs),
        schedule.attempts,
        schedule.base,
        schedule.cap
    )
}

pub(super) fn runs(n: u32) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{n} runs") }
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
    let bars: Vec<_> = windows.map(|(_, window)| window.bar()).collect();
    let bar = match (bars.iter().min(), bars.iter().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (Some(bar), _) => bar.to_string(),
        _ => String::new(),
    };
    let start = cases
        .first()
        .map_or_else(String::new, |&case| format!(" from {} on", Window::of(storm, case).start()));
    let scale = if storm.case().is_some() { "one scale for a case" } else { "one scale for all" };
    format!("arrivals  attempts over time{start}, {scale}; one bar is {bar}")
}

const fn lesson(storm: &Storm<'_>) -> &'static str {
    match storm {
        Storm::Lockstep(..) => {
            "Callers that failed together and wait without jitter come back together. Jitter spreads\n\
             them. Full and equal jitter also shorten the waiting in all, so in a longer outage (try\n\
             --up-at 1s) they run out of attempts first: give them one more."
        }
        // Four sentences, each a reason that can be checked by hand.
        Storm::Tutorial(..) => {
            "A popular tutorial prints 540 (no retry), 4380 (no jitter), 1820 (equal) and 720 (full) here.\n\
             At exactly 2 ms its last caller is gone before the outage begins, so nobody fails at all;\n\
             only a loop that sleeps too long meets the outage. 0.2 s of 500 callers a second are 100\n\
             failures, and 25 more callers come in 50 ms, so no law can ever serve more than 125 in a\n\
             bucket: 2500 a second. Callers that fail one after the other are not in step: waiting\n\
             without jitter only moves them, and jitter folds them together, so its peak is the higher."
        }
        Storm::Poisson(..) => {
            "The no-retry row is the noise of the arrivals alone: read the others against it. Callers\n\
             that were never in step do not come back in step, so the laws differ little. In a long\n\
             outage the load is 500 callers a second times the attempts of each, whatever the law, and\n\
             that is what the server meets when it is up again."
        }
    }
}
