//! The chore: every world is played, written as a log and watched, and the verdicts are compared with the truth.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use clap::Args;
use serde::Serialize;
use stagger_core::Span;
use stagger_replay::LineParser;
use stagger_sim::PlayedAttempt;
use stagger_watch::{StormDetector, WatchEvent, WatchSettings};
use xtask_workbench::{Format, note};

use super::calm_loads::calm_loads;
use super::log_lines::of_log;
use super::storms::storms;
use super::truth::{CALM, STORM, Truth};
use super::world::{Half, WatchedWorld};

/// The worlds to watch.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The half of the worlds: thresholds were set on the other one.
    #[arg(long, value_enum, default_value_t)]
    half: Half,
    /// Variants of each of six families of storms, and of each of six families of calm loads.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    variants: u32,
    /// Minutes of every calm load.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(11..=1_000))]
    calm_minutes: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The least share of storms that must be seen.
const LEAST_RECALL: f64 = 0.95;
/// False alarms a day of calm load at most.
const MOST_FALSE_ALARMS: f64 = 1.0;
/// The delay that 95 % of the storms that were seen must keep to, in seconds.
const LONGEST_DELAY: f64 = 10.0;
/// A storm that is seen later than this was not seen.
const SEEN_WITHIN: f64 = 60.0;
/// An alarm may be this much earlier than the storm by its bound, because the detector's bound is lower.
const EARLY: f64 = 5.0;

/// Watches the worlds; false when a goal is missed.
pub(crate) fn run(watch: &Watch) -> Result<bool, Box<dyn Error>> {
    let mut report = WatchReport { half: watch.half.name(), ..WatchReport::default() };
    for mut world in storms(watch.half, watch.variants)? {
        report.storm(&world.name.clone(), &SeenWorld::of(&mut world)?)?;
    }
    let mut delays = std::mem::take(&mut report.delays);
    delays.sort_by(f64::total_cmp);
    report.delay_s_p95 = p95(&delays);
    report.recall = count(delays.len()) / count(report.storms).max(1.0);
    for mut world in calm_loads(watch.half, watch.variants, watch.calm_minutes)? {
        report.calm(&world.name.clone(), &SeenWorld::of(&mut world)?)?;
    }
    watch.format.show(&report, &report)?;
    Ok(report.is_good())
}

/// One world as it was, and as it was seen.
struct SeenWorld {
    truth: Truth,
    /// The seconds of the lab at which storms were reported.
    alarms: Vec<f64>,
}

impl SeenWorld {
    fn of(world: &mut WatchedWorld) -> Result<Self, Box<dyn Error>> {
        let (_, attempts) = PlayedAttempt::of_run(&world.plan, world.seed);
        let mut detector = StormDetector::new(WatchSettings::default());
        let mut parser = LineParser::default();
        let mut alarms = Vec::new();
        parser.push(world.log.header(), |_, _| {})?;
        for attempt in &attempts {
            let line = world.log.line(attempt);
            parser.push(line, |attempt, names| {
                let events = detector.push(attempt, names);
                let now = of_log(attempt.ended()).as_secs_f64();
                let began = events.iter().filter(|event| matches!(event, WatchEvent::Began(_)));
                alarms.extend(began.map(|_| now));
            })?;
        }
        if parser.malformed() > 0 {
            return Err(format!("{}: {} malformed lines", world.name, parser.malformed()).into());
        }
        Ok(Self { truth: Truth::of(&attempts), alarms })
    }
}

/// The verdicts on all worlds.
#[derive(Debug, Default, Serialize)]
struct WatchReport {
    /// The half that this is about.
    half: &'static str,
    /// Storms.
    storms: usize,
    /// The share of them that was reported within a minute.
    recall: f64,
    /// Days of calm load.
    calm_days: f64,
    /// Storms that were reported in calm loads, or before the storm.
    false_alarms: usize,
    /// The time from the start of a storm to its report, in seconds, that 95 % of those keep to.
    delay_s_p95: f64,
    /// The worlds that were missed or alarmed about.
    mistakes: Vec<String>,
    #[serde(skip)]
    delays: Vec<f64>,
    #[serde(skip)]
    families: BTreeMap<String, Vec<f64>>,
}

impl WatchReport {
    fn storm(&mut self, name: &str, seen: &SeenWorld) -> Result<(), Box<dyn Error>> {
        let start = seen.truth.start().ok_or_else(|| {
            format!("{name} is no storm: {:.2} attempts a call at most", seen.truth.worst())
        })?;
        self.storms += 1;
        let after = |alarm: &f64| alarm - f64::from(start);
        let delays: Vec<f64> = seen.alarms.iter().map(after).collect();
        let early = delays.iter().filter(|delay| **delay < -EARLY).count();
        if early > 0 {
            self.false_alarms += early;
            self.mistakes.push(format!("{name}: {early} alarms before the storm"));
        }
        match delays.into_iter().find(|delay| (-EARLY..=SEEN_WITHIN).contains(delay)) {
            Some(delay) => {
                note(&format!("{name}: after {delay:.1} s"));
                self.delays.push(delay.max(0.0));
                let family = name.split(|c: char| c.is_ascii_digit()).next().unwrap_or(name).trim();
                self.families.entry(family.to_owned()).or_default().push(delay.max(0.0));
            }
            None => {
                let worst = seen.truth.worst();
                self.mistakes.push(format!("{name}: missed, {worst:.2} attempts a call at most"));
            }
        }
        Ok(())
    }

    fn calm(&mut self, name: &str, seen: &SeenWorld) -> Result<(), Box<dyn Error>> {
        let worst = seen.truth.worst();
        if worst >= CALM {
            return Err(format!("{name} is not calm: {worst:.2} attempts a call").into());
        }
        note(&format!("{name}: {} alarms, {worst:.2} attempts a call at most", seen.alarms.len()));
        self.calm_days += Span::from_secs(u64::from(seen.truth.seconds())).as_secs_f64() / 86_400.0;
        self.false_alarms += seen.alarms.len();
        if let Some(first) = seen.alarms.first() {
            let all = seen.alarms.len();
            self.mistakes.push(format!("{name}: {all} false alarms, the first after {first:.0} s"));
        }
        Ok(())
    }

    fn is_good(&self) -> bool {
        self.recall >= LEAST_RECALL
            && count(self.false_alarms) <= MOST_FALSE_ALARMS * self.calm_days.max(1.0)
            && self.delay_s_p95 <= LONGEST_DELAY
    }
}

impl Half {
    const fn name(self) -> &'static str {
        match self {
            Self::Setting => "setting",
            Self::Reported => "reported",
        }
    }
}

impl fmt::Display for WatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the {} half; a storm is {STORM} attempts a call by the lab", self.half)?;
        writeln!(f, "storms                  {}", self.storms)?;
        writeln!(f, "recall                  {:.3} (at least {LEAST_RECALL})", self.recall)?;
        writeln!(f, "calm load               {:.2} days", self.calm_days)?;
        writeln!(f, "false alarms            {} (at most one a day)", self.false_alarms)?;
        let delay = self.delay_s_p95;
        writeln!(f, "delay, 95 % of storms   {delay:.1} s (at most {LONGEST_DELAY} s)")?;
        for (family, delays) in &self.families {
            let worst = delays.iter().copied().fold(0.0, f64::max);
            writeln!(f, "  {family:<24}{} seen, after {worst:.1} s at most", delays.len())?;
        }
        self.mistakes.iter().try_for_each(|mistake| writeln!(f, "  {mistake}"))
    }
}

/// The value that 95 % of these do not exceed; they are in order.
fn p95(sorted: &[f64]) -> f64 {
    let index = (sorted.len() * 95).div_ceil(100).max(1) - 1;
    sorted.get(index).copied().unwrap_or(0.0)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
