//! A model of traffic, server and outages, from which worlds are drawn.

use stagger_core::{ConfigError, Instant, Policy, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fleet, MeasurementPlan, RunPlan, Service, Workers,
};

use crate::dice::{Dice, DrawPurpose, seconds};
use crate::outage::OutageRange;
use crate::world::WorldTemplate;

/// Calls a second: a call in ten seconds, to more than one lab run plays.
const RATES: (f64, f64) = (0.1, 1e6);
/// Shortest and longest mean of the work on one attempt.
const SERVICES: (Span, Span) = (Span::from_micros(100), Span::from_secs(60));
/// Processes that share the calls.
const MAX_PROCESSES: u32 = 1_000_000;
/// Kinds of outages in one model: more are no distribution that a reader takes in.
const MAX_OUTAGES: usize = 16;

/// The stretch before an outage: budgets and breakers count ten seconds.
const LEAD: Span = Span::from_secs(10);
/// The stretch that is played of an outage that never ends.
const ENDLESS: Span = Span::from_secs(30);
/// The shortest and the longest stretch after an outage, between which it is as long as the outage was.
const TAIL: (Span, Span) = (Span::from_secs(20), Span::from_secs(120));
/// The fewest workers that a model is scaled down to: with fewer, waiting is due to chance.
const FEWEST_WORKERS: f64 = 4.0;

/// Calls of one service, its server, and the outages that the server may have.
///
/// Calls arrive in a Poisson process; the work on an attempt is exponentially distributed, and attempts
/// wait in one queue before all workers. The server does not know whether a caller still waits.
///
/// ```
/// use stagger_tune::WorldModel;
/// let model = WorldModel::new(100.0, 200.0)?.with_outages(vec!["stall=2s..10s".parse()?])?;
/// assert_eq!(model.load(), 100.0);
/// let error = WorldModel::new(0.0, 200.0).unwrap_err();
/// assert_eq!(error.to_string(), "load = 0: must be a number from 0.1 to 1000000");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WorldModel {
    load: f64,
    capacity: f64,
    service: Span,
    processes: u32,
    queue: Option<u32>,
    outages: Vec<OutageRange>,
}

impl WorldModel {
    /// So many calls a second of all processes together, and so many attempts a second that the server
    /// serves at most. The rest is as usual: 20 ms of work, or one worker's time where that is longer,
    /// 10 processes, a queue without bound, and outages in which the server refuses for 5 s to 30 s.
    ///
    /// # Errors
    /// `load` or `capacity` outside 0.1 to 1 000 000.
    pub fn new(load: f64, capacity: f64) -> Result<Self, ConfigError> {
        for (field, rate) in [("load", load), ("capacity", capacity)] {
            if !(RATES.0..=RATES.1).contains(&rate) {
                let bound = format!("a number from {} to {}", RATES.0, RATES.1);
                return Err(ConfigError::new(field, rate, bound));
            }
        }
        let usual = OutageRange::new(
            stagger_sim::Trouble::Refuse,
            Span::from_secs(5),
            Span::from_secs(30),
        )?;
        let service = Span::from_millis(20).max(seconds(1.0 / capacity));
        Ok(Self { load, capacity, service, processes: 10, queue: None, outages: vec![usual] })
    }

    /// The same model with this mean time of work on one attempt.
    ///
    /// # Errors
    /// `service` outside 100 µs to 60 s, or so short that one worker alone serves more than the
    /// capacity.
    pub fn with_service(self, mean: Span) -> Result<Self, ConfigError> {
        if !(SERVICES.0..=SERVICES.1).contains(&mean) {
            return Err(ConfigError::new("service", mean, "from 100us to 60s"));
        }
        let least = seconds(1.0 / self.capacity);
        if mean < least {
            let bound = format!(
                "at least {least}: with one worker of {mean} the server serves more than the capacity of {}/s",
                self.capacity
            );
            return Err(ConfigError::new("service", mean, bound));
        }
        Ok(Self { service: mean, ..self })
    }

    /// The same model with so many processes, each with its own budget and breaker.
    ///
    /// # Errors
    /// `processes` outside 1 to 1 000 000.
    pub fn with_processes(self, processes: u32) -> Result<Self, ConfigError> {
        if !(1..=MAX_PROCESSES).contains(&processes) {
            let bound = format!("a whole number from 1 to {MAX_PROCESSES}");
            return Err(ConfigError::new("processes", processes, bound));
        }
        Ok(Self { processes, ..self })
    }

    /// The same model, in which the server refuses attempts while so many wait.
    #[must_use]
    pub fn with_queue(self, waiting: u32) -> Self {
        Self { queue: Some(waiting), ..self }
    }

    /// The same model with these outages; each world has one of them, all equally likely.
    ///
    /// # Errors
    /// `outage` without any, or with more than 16.
    pub fn with_outages(self, outages: Vec<OutageRange>) -> Result<Self, ConfigError> {
        if outages.is_empty() || outages.len() > MAX_OUTAGES {
            let bound = format!("from 1 to {MAX_OUTAGES} kinds");
            return Err(ConfigError::new("outage", outages.len(), bound));
        }
        Ok(Self { outages, ..self })
    }

    /// Calls a second of all processes together.
    #[must_use]
    pub const fn load(&self) -> f64 {
        self.load
    }

    /// Attempts a second that the server serves at most.
    #[must_use]
    pub const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The mean time of work on one attempt.
    #[must_use]
    pub const fn service(&self) -> Span {
        self.service
    }

    /// The processes that share the calls.
    #[must_use]
    pub const fn processes(&self) -> u32 {
        self.processes
    }

    /// The attempts that may wait at the server; without bound when `None`.
    #[must_use]
    pub const fn queue(&self) -> Option<u32> {
        self.queue
    }

    /// The outages.
    #[must_use]
    pub fn outages(&self) -> &[OutageRange] {
        &self.outages
    }

    /// The calls of the longest world.
    fn most_calls(&self) -> f64 {
        let longest = self.outages.iter().map(|outage| length(outage.longest())).max();
        self.load * longest.unwrap_or(LEAD).as_secs_f64()
    }

    /// The model divided by the factor that leaves about `calls` in the longest world, and that factor.
    ///
    /// Load, capacity, queue and processes shrink alike, so that utilization, and the traffic of one
    /// process where there are several, stay as they are.
    pub(crate) fn scaled(&self, calls: f64) -> (Self, f64) {
        let workers = self.capacity * self.service.as_secs_f64();
        let most = (workers / FEWEST_WORKERS).max(1.0);
        let factor = (self.most_calls() / calls).clamp(1.0, most);
        let scaled = Self {
            load: self.load / factor,
            capacity: self.capacity / factor,
            processes: whole(f64::from(self.processes) / factor),
            queue: self
                .queue
                .map(|queue| if queue == 0 { 0 } else { whole(f64::from(queue) / factor) }),
            service: self.service,
            outages: self.outages.clone(),
        };
        (scaled, factor)
    }

    /// The world of this number.
    pub(crate) fn template(&self, seed: u64, number: u32) -> WorldTemplate {
        let mut dice = Dice::new(seed, DrawPurpose::Outage, number);
        let outage = *dice.one_of(&self.outages);
        let (fault, lasts) = outage.draw(Instant::ORIGIN + LEAD, &mut dice);
        let until = length(lasts);
        let arrivals = ArrivalProcess::Poisson {
            gap: seconds(1.0 / self.load),
            until: Instant::ORIGIN + until,
        };
        let plan = RunPlan {
            backend: self.backend(),
            faults: vec![fault],
            fleet: Fleet { processes: self.processes, ..Fleet::default() },
            watch: MeasurementPlan::around(fault.until.min(Instant::ORIGIN + until)),
            ..RunPlan::new(arrivals, CallerLayer::new(Policy::default()))
        };
        WorldTemplate::of_one(plan, vec![0])
    }

    /// Whole workers whose time is such that all of them together serve the capacity.
    fn backend(&self) -> Backend {
        let workers = whole(self.capacity * self.service.as_secs_f64());
        let each = seconds(f64::from(workers) / self.capacity);
        Backend {
            service: Service::Exponential(each),
            workers: Some(Workers::new(workers, self.queue)),
            ..Backend::UNLIMITED
        }
    }
}

/// The length of a world whose outage has this length.
fn length(outage: Option<Span>) -> Span {
    match outage {
        Some(outage) => LEAD + outage + outage.clamp(TAIL.0, TAIL.1),
        None => LEAD + ENDLESS,
    }
}

/// The nearest whole number from 1 on.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(value: f64) -> u32 {
    // OK because a cast from float to integer saturates.
    ((value + 0.5) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_model_keeps_utilization_and_the_traffic_of_a_process() {
        let model = WorldModel::new(10_000.0, 20_000.0).expect("valid");
        let model = model.with_processes(1_000).expect("valid");
        let (small, factor) = model.scaled(70_000.0);
        assert_eq!(factor, 10.0, "70 s of 10 000 calls a second");
        assert_eq!((small.load(), small.capacity(), small.processes()), (1_000.0, 2_000.0, 100));
    }

    #[test]
    fn a_server_of_few_workers_is_not_made_smaller() {
        // 4 workers of 20 ms.
        let model = WorldModel::new(150.0, 200.0).expect("valid");
        assert_eq!(model.scaled(100.0).1, 1.0);
    }
}
