//! The lab's run of a row: the model that a measured run is compared with, and the load that it foresees.

use std::collections::VecDeque;

use stagger_core::{Instant, Span};
use stagger_sim::{Played, PlayedAttempt, Simulation};

use crate::error::LoadError;
use crate::load_row::LoadRow;

/// The lab's run of one row, under the seed of the measured run: the same calls, and the same draws of every delay.
///
/// ```
/// use stagger_core::Span;
/// use stagger_load::{LoadForecast, LoadRow};
/// use stagger_sim::{ArrivalProcess, Law, RunPlan, Schedule};
/// let caller = Law::NoRetry.caller(&Schedule::default())?;
/// let arrivals = ArrivalProcess::Even { callers: 30, spacing: Span::from_millis(100) };
/// let mut plan = RunPlan::new(arrivals, caller);
/// plan.backend = plan.backend.serving_in(Span::from_millis(250));
/// let row = LoadRow { name: "even".to_owned(), plan };
/// let forecast = LoadForecast::of(&row, 1)?;
/// assert_eq!((forecast.busiest_second, forecast.most_in_flight), (10, 3));
/// assert_eq!(forecast.length(), Span::from_millis(3_150));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoadForecast {
    /// The name of the row.
    pub name: String,
    /// The figures of the lab.
    pub played: Played,
    /// The most attempts in any second.
    pub busiest_second: u64,
    /// The most attempts that are under way at once.
    pub most_in_flight: u64,
}

/// Calls of one run: a call that waits takes about a kilobyte, so that they fit into a gigabyte.
const MOST_CALLS: u64 = 1_000_000;
/// Attempts of one run: the lab keeps each of them to foresee connections, with 48 bytes.
const MOST_ATTEMPTS: u64 = 4_000_000;

impl LoadForecast {
    /// Plays a row in the lab.
    ///
    /// # Errors
    /// More calls or attempts than a run over sockets may have.
    pub fn of(row: &LoadRow, seed: u64) -> Result<Self, LoadError> {
        let played = Simulation::new().play(&row.plan, seed);
        check_size(&row.name, played.calls, played.attempts.total)?;
        let (_, attempts) = PlayedAttempt::of_run(&row.plan, seed);
        let never_ended = played.attempts.total.saturating_sub(attempts.len() as u64);
        Ok(Self {
            name: row.name.clone(),
            busiest_second: busiest_second(&attempts),
            most_in_flight: most_in_flight(&attempts) + never_ended,
            played,
        })
    }

    /// The time that the run takes in the lab.
    #[must_use]
    pub const fn length(&self) -> Span {
        self.played.length
    }
}

/// Refuses a run of so many calls and attempts, before more is foreseen of it.
fn check_size(row: &str, calls: u64, attempts: u64) -> Result<(), LoadError> {
    for (name, count, most) in [("calls", calls, MOST_CALLS), ("attempts", attempts, MOST_ATTEMPTS)]
    {
        if count > most {
            return Err(LoadError::bound(format!(
                "'{row}' makes {count} {name} in the lab, and a run over sockets at most {most}: take a \
                 smaller scenario"
            )));
        }
    }
    Ok(())
}

const SECOND: Span = Span::from_secs(1);
/// The time for which a connection is in use beyond what the lab says, where answers may take no time.
const ROUND_TRIP: Span = Span::from_millis(5);

fn busiest_second(attempts: &[PlayedAttempt]) -> u64 {
    let mut began: Vec<Instant> = attempts.iter().map(|attempt| attempt.began).collect();
    began.sort_unstable();
    let mut second = VecDeque::new();
    let mut most = 0;
    for at in began {
        second.push_back(at);
        while second.front().is_some_and(|&first| at >= first + SECOND) {
            second.pop_front();
        }
        most = most.max(second.len() as u64);
    }
    most
}

fn most_in_flight(attempts: &[PlayedAttempt]) -> u64 {
    // An attempt that ends makes room for one that begins in the same instant.
    let ends = attempts.iter().map(|attempt| (attempt.ended + ROUND_TRIP, 0_u8));
    let begins = attempts.iter().map(|attempt| (attempt.began, 1));
    let mut edges: Vec<(Instant, u8)> = ends.chain(begins).collect();
    edges.sort_unstable();
    let (mut now, mut most) = (0_i64, 0);
    for (_, begins) in edges {
        now += if begins == 1 { 1 } else { -1 };
        most = most.max(now);
    }
    u64::try_from(most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use stagger_sim::{ArrivalProcess, Law, RunPlan, Schedule};

    use super::*;

    #[test]
    fn a_million_calls_and_one_were_played() {
        let caller = Law::NoRetry.caller(&Schedule::default()).expect("the default schedule");
        let plan = RunPlan::new(ArrivalProcess::Together { callers: 1_000_001 }, caller);
        let row = LoadRow { name: "no-retry".to_owned(), plan };
        let refused = LoadForecast::of(&row, 1).expect_err("too many");
        assert!(refused.is_bound());
        assert!(refused.to_string().contains("1000001 calls"), "{refused}");
    }
}
