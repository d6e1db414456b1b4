//! The goals of the search over random models of traffic, server and outages.
//!
//! A model is graded on worlds that neither the search nor its judgement has seen. Policies are compared by
//! `CallObjective::cost`: the miss of the objective first, then added load, then latency.
//!
//! - Worse than `choose`: the mean cost of the recommended policy is higher beyond noise. With many models
//!   some intervals of 95 % lie above zero by chance, so the level is 5 % for all models together
//!   (Bonferroni).
//! - Better than a vendor: the mean cost is lower than that of each of its two defaults beyond the noise of
//!   an interval of 95 %. Equal: the costs are the same in every world.

use stagger_core::{ConfigError, Entropy, Policy, Ratio, Span};
use stagger_sim::{Purpose, RandomStream, ThreadPool};
use stagger_tune::{
    AWS, CHOOSE, CallObjective, DifferenceVerdict, ENVOY, OutageRange, PairedDifference,
    TuneOptions, WorldModel, WorldSource, least_events, play, tune,
};

/// Worlds that a model is graded in, from this number on.
const FRESH: (u32, usize) = (1 << 24, 192);

/// Worlds, from this number on, in which one attempt alone must miss the objective.
const SINGLE: (u32, usize) = (1 << 23, 12);
/// The least cost of a single attempt in them: a tenth of a per cent of the calls, and the longest latency.
const LEAST_MISS: f64 = 1.0 + 0.1;
/// Draws of one model at most.
const DRAWS: u32 = 1_000;

/// The kinds of outages, one after the other.
const KINDS: [&str; 5] = ["down", "closed", "stall", "failing", "slow"];

/// A random model with its objective.
pub(crate) struct RandomModel {
    pub(crate) model: WorldModel,
    pub(crate) objective: CallObjective,
    /// The kind of its outages.
    pub(crate) kind: &'static str,
}

/// The grade of one model: cost differences between the recommended policy and others, in fresh worlds.
pub(crate) struct Grade {
    pub(crate) recommended: String,
    pub(crate) against_choose: PairedDifference,
    /// Against each of the two defaults of the AWS SDKs, and of Envoy.
    pub(crate) against_aws: [PairedDifference; 2],
    pub(crate) against_envoy: [PairedDifference; 2],
}

/// Better than all of these, worse than one of them, or neither beyond noise.
pub(crate) fn verdict(against: &[PairedDifference]) -> &'static str {
    let is = |wanted| move |one: &PairedDifference| one.verdict() == wanted;
    match () {
        () if against.iter().all(is(DifferenceVerdict::Lower)) => "better",
        () if against.iter().any(is(DifferenceVerdict::Higher)) => "worse",
        () if against.iter().all(|one| one.mean == 0.0 && one.error == 0.0) => "equal",
        () => "noise",
    }
}

impl Grade {
    /// Whether the recommended policy is worse than the answer of `choose`, at a level of 5 % for so many
    /// models together.
    pub(crate) fn is_worse_than_choose(&self, models: u32) -> bool {
        self.against_choose.interval_at(one_sided(0.05 / f64::from(models))).0 > 0.0
    }
}

/// The normal quantile of a one-sided level below a half (Abramowitz and Stegun 26.2.23, within 0.00045).
fn one_sided(level: f64) -> f64 {
    let t = libm::sqrt(-2.0 * libm::log(level));
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

impl RandomModel {
    /// The model of this number: the first draw in which a single attempt misses the objective. Where it
    /// keeps the objective there is nothing to tune: no policy serves more calls, and every retry is load.
    ///
    /// # Errors
    /// None for a seed under which one of the draws is such a model.
    pub(crate) fn draw(seed: u64, number: u32, pool: &ThreadPool<'_>) -> Result<Self, ConfigError> {
        for place in 0..DRAWS {
            let random = Self::draw_once(seed, (number, place))?;
            if random.needs_more_than_one_attempt(seed, pool)? {
                return Ok(random);
            }
        }
        Err(ConfigError::new(
            "seed",
            seed,
            "one that draws an outage that a single attempt notices",
        ))
    }

    fn needs_more_than_one_attempt(
        &self,
        seed: u64,
        pool: &ThreadPool<'_>,
    ) -> Result<bool, ConfigError> {
        let source = WorldSource::Model(self.model.clone());
        let options = TuneOptions { seed, ..TuneOptions::new(self.objective) };
        let single = Policy::builder().max_attempts(1).deadline(self.objective.deadline());
        let costs = play(&source, &options, &[single.build()?], SINGLE, pool)?;
        // OK because there are twelve worlds.
        #[expect(clippy::cast_precision_loss, reason = "twelve worlds")]
        let mean = costs[0].iter().sum::<f64>() / SINGLE.1 as f64;
        Ok(mean >= LEAST_MISS)
    }

    /// The draw of this place: 4 to 64 workers of 20 ms to 300 ms, a load of 30 % to 95 % of what they
    /// serve, 1 to 200 processes, one kind of outage whose length is drawn from a range within 1 s and
    /// 30 s, and a deadline from 10 times the work on one attempt (at least half a second) to 20 s. Half
    /// of the objectives also bound the 99th percentile of latency by half of the deadline.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "draws are positive and far below 2^32, and 53 bits of a word are exact"
    )]
    fn draw_once(seed: u64, (number, place): (u32, u32)) -> Result<Self, ConfigError> {
        let mut word = RandomStream::new(seed, Purpose::Shard).at(number, place);
        let mut unit = || (word.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let log = |unit: f64, least: f64, most: f64| least * libm::pow(most / least, unit);
        let workers = log(unit(), 4.0, 64.0).floor();
        let service = log(unit(), 0.02, 0.3);
        let capacity = workers / service;
        let load = capacity * (0.3 + 0.65 * unit());
        let processes = log(unit(), 1.0, 200.0) as u32;
        let kind = KINDS[number as usize % KINDS.len()];
        let amount = match kind {
            "failing" => format!(":{:.0}%", 10.0 + 80.0 * unit()),
            "slow" => format!(":{:.1}", log(unit(), 2.0, 20.0)),
            _ => String::new(),
        };
        let least = log(unit(), 1.0, 10.0);
        let most = least * (1.0 + 2.0 * unit());
        let outage: OutageRange = format!("{kind}{amount}={least:.1}s..{most:.1}s").parse()?;
        let deadline = log(unit(), (10.0 * service).max(0.5), 20.0);
        let deadline = Span::from_millis((deadline * 1e3) as u64);
        let objective = CallObjective::new(Ratio::from_ppm(999_000), deadline)?;
        let objective = match unit() < 0.5 {
            true => objective.with_p99(Span::from_nanos(deadline.as_nanos() / 2))?,
            false => objective,
        };
        let model = WorldModel::new(load, capacity)?
            .with_service(Span::from_micros((service * 1e6) as u64))?
            .with_processes(processes.max(1))?
            .with_outages(vec![outage])?;
        Ok(Self { model, objective, kind })
    }

    /// Tunes for the model, and grades the recommended policy.
    pub(crate) fn grade(
        self,
        seed: u64,
        events: u64,
        pool: &ThreadPool<'_>,
    ) -> Result<Grade, ConfigError> {
        let source = WorldSource::Model(self.model);
        let options = TuneOptions { seed, events, ..TuneOptions::new(self.objective) };
        let events = events.max(least_events(&source, &options)?);
        let options = TuneOptions { events, ..options };
        let report = tune(&source, &options, pool)?;
        let names = [CHOOSE, AWS[0], AWS[1], ENVOY[0], ENVOY[1]];
        let rows = names.map(|name| report.row(name).expect("every search has it").policy);
        let policies: Vec<Policy> = [report.recommended().policy].into_iter().chain(rows).collect();
        let costs = play(&source, &options, &policies, FRESH, pool)?;
        let against = |place: usize| PairedDifference::of(&costs[0], &costs[place]);
        Ok(Grade {
            recommended: report.recommended().name.clone(),
            against_choose: against(1),
            against_aws: [against(2), against(3)],
            against_envoy: [against(4), against(5)],
        })
    }
}
