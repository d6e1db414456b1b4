//! The bounds of a run over sockets: rate, time, connections and calls.

use stagger_core::Span;

use crate::error::LoadError;
use crate::forecast::LoadForecast;

/// The most that all runs of one command may send, and for how long.
///
/// What the lab foresees beyond a bound is refused before the start. What a server provokes beyond it ends the run:
/// the attempt that would exceed the bound is not sent.
///
/// ```
/// use stagger_core::Span;
/// use stagger_load::LoadBounds;
/// let bounds = LoadBounds::THIS_MACHINE.lowered(Some(100), None, None);
/// assert_eq!((bounds.rate, bounds.connections), (100, LoadBounds::THIS_MACHINE.connections));
/// // A bound can only be lowered.
/// let bounds = LoadBounds::ELSEWHERE.lowered(Some(1_000_000), Some(Span::from_secs(3)), None);
/// assert_eq!((bounds.rate, bounds.time), (LoadBounds::ELSEWHERE.rate, Span::from_secs(3)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadBounds {
    /// Attempts in any second.
    pub rate: u32,
    /// The time of all runs together.
    pub time: Span,
    /// Connections that are open at once.
    pub connections: u32,
}

impl LoadBounds {
    /// The bounds towards this machine. 20 000 attempts a second are more than one process sends on time; ten
    /// minutes are longer than any scenario that ships, and connections stay below the ports of one address.
    pub const THIS_MACHINE: Self =
        Self { rate: 20_000, time: Span::from_secs(600), connections: 16_384 };

    /// The bounds towards a host that was named: a test of a service, and not an attack on one.
    pub const ELSEWHERE: Self =
        Self { rate: 1_000, time: Span::from_secs(120), connections: 1_024 };

    /// The same bounds, with lower values where some are given.
    #[must_use]
    pub fn lowered(self, rate: Option<u32>, time: Option<Span>, connections: Option<u32>) -> Self {
        Self {
            rate: rate.unwrap_or(u32::MAX).min(self.rate),
            time: time.unwrap_or(Span::MAX).min(self.time),
            connections: connections.unwrap_or(u32::MAX).min(self.connections),
        }
    }

    /// Refuses what the lab foresees beyond a bound.
    ///
    /// # Errors
    /// The first bound that a run exceeds, with both values.
    pub fn check(&self, forecasts: &[LoadForecast]) -> Result<(), LoadError> {
        for forecast in forecasts {
            let LoadForecast { name, busiest_second, most_in_flight, .. } = forecast;
            if *busiest_second > u64::from(self.rate) {
                return Err(LoadError::bound(format!(
                    "'{name}' makes {busiest_second} attempts in its busiest second in the lab, and the bound is \
                     {}: take a smaller scenario, or other laws by --law",
                    self.rate
                )));
            }
            if *most_in_flight > u64::from(self.connections) {
                return Err(LoadError::bound(format!(
                    "'{name}' has {most_in_flight} attempts in flight in the lab, each on a connection of its \
                     own, and the bound is {}: take a smaller scenario, or a shorter timeout",
                    self.connections
                )));
            }
        }
        let total = forecasts.iter().fold(Span::ZERO, |sum, forecast| sum + forecast.length());
        if total > self.time {
            // People read no nanoseconds.
            let total = Span::from_millis(total.as_nanos() / 1_000_000);
            return Err(LoadError::bound(format!(
                "the {} rows take {total} in the lab, one after the other, and the bound is {}: take fewer rows \
                 by --law, or a shorter scenario",
                forecasts.len(),
                self.time
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stagger_sim::{ArrivalProcess, Law, RunPlan, Schedule};

    use super::*;
    use crate::load_row::LoadRow;

    fn herd(callers: u32) -> LoadRow {
        let caller = Law::NoRetry.caller(&Schedule::default()).expect("the default schedule");
        let mut plan = RunPlan::new(ArrivalProcess::Together { callers }, caller);
        plan.backend = plan.backend.serving_in(Span::from_millis(10));
        LoadRow { name: "no-retry".to_owned(), plan }
    }

    #[test]
    fn a_run_beyond_a_bound_began() {
        let forecast = LoadForecast::of(&herd(50), 1).expect("fifty calls");
        let forecasts = [forecast];
        assert_eq!(LoadBounds::THIS_MACHINE.check(&forecasts), Ok(()));
        let refused = |rate, time, connections| {
            let bounds = LoadBounds::THIS_MACHINE.lowered(rate, time, connections);
            bounds.check(&forecasts).expect_err("a bound is exceeded").to_string()
        };
        let rate = refused(Some(49), None, None);
        assert!(rate.starts_with("'no-retry' makes 50 attempts in its busiest second"), "{rate}");
        let connections = refused(None, None, Some(49));
        assert!(connections.contains("50 attempts in flight"), "{connections}");
        let time = refused(None, Some(Span::from_millis(5)), None);
        assert!(time.starts_with("the 1 rows take 10ms in the lab"), "{time}");
    }
}
