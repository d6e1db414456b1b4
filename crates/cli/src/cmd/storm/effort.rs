//! The work of a scenario, estimated before it is played, for the progress bar.

use stagger_core::{Instant, Span};
use stagger_sim::{ArrivalProcess, Play, Scenario};

/// About how many calls all runs make together.
pub(super) fn calls(scenario: &Scenario) -> u64 {
    let entries = scenario.cases.iter().flat_map(|case| &case.entries);
    let each = entries.map(|entry| match &entry.play {
        Play::Run(plan) => {
            let others = plan.bystanders.iter().map(|others| &others.arrivals);
            plan.arrivals.iter().chain(others).map(of_arrivals).fold(0, u64::saturating_add)
        }
        // Each write makes all others of its moment fail.
        Play::Contention(race) => u64::from(race.clients).saturating_pow(2),
    });
    each.fold(0, u64::saturating_add).saturating_mul(u64::from(scenario.runs))
}

fn of_arrivals(arrivals: &ArrivalProcess) -> u64 {
    let times =
        |until: Instant, gap: Span| (until - Instant::ORIGIN).as_nanos() / gap.as_nanos().max(1);
    match arrivals {
        ArrivalProcess::Together { callers }
        | ArrivalProcess::Even { callers, .. }
        | ArrivalProcess::Noticed { callers, .. }
        | ArrivalProcess::Spread { callers, .. } => u64::from(*callers),
        ArrivalProcess::Poisson { gap, until } => times(*until, *gap),
        ArrivalProcess::Clients { clients, gap: think, until, .. }
        | ArrivalProcess::Closed { clients, think, until } => {
            u64::from(*clients).saturating_mul(times(*until, *think))
        }
        ArrivalProcess::Ramped(ramp) => u64::from(ramp.callers),
        ArrivalProcess::Recorded(times) => times.len() as u64,
    }
}
