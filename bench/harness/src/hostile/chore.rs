//! The run of all attacks, one after the other, each on a dispatcher of its own.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout};

use super::attack::Attack;
use super::site::AttackSite;
use super::victim::VictimFigures;
use crate::rig::{build, run_here, run_optimised};
use xtask_workbench::{Format, note};

/// The time from the beginning of an attack to the measurement: connections open, queues fill.
const RAMP: Duration = Duration::from_secs(2);
/// The time from the end of an attack to the last measurement.
const REST: Duration = Duration::from_secs(3);
/// The longest time for one attack besides its measurements: the start, up to 500 endpoints, and the waits
/// for the last answers and deliveries.
const BESIDES: Duration = Duration::from_secs(150);
/// The goal: the 99th percentile during an attack, as a multiple of the one before, or in ms.
const WORSE: f64 = 5.0;
const LIMIT_MS: f64 = 50.0;
/// The goal: accepted messages, of those that were posted.
const ACCEPTED: f64 = 0.95;

/// The attacks and their output.
#[derive(Debug, Args)]
pub(crate) struct Hostile {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Only these attacks, with commas between them [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    attacks: Vec<Attack>,
    /// Seconds of each measurement: before, during and after an attack
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=120))]
    seconds: u64,
    /// A binary to attack, instead of one that is built for it
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// The effect of one attack on another tenant.
#[derive(Debug, Serialize)]
struct AttackFigures {
    attack: String,
    victim_p99_ms_before: f64,
    victim_p99_ms_during: f64,
    /// The share of the victim's messages that were accepted.
    victim_accepted_during: f64,
    /// The delay of the victim's own timers, which is the part of the percentile that the harness adds.
    harness_late_p99_ms: f64,
    /// Cores in use by the node, and by the victim and the attacker, during the attack.
    node_cores: f64,
    harness_cores: f64,
    /// Whether it was within the goals again after the attack, and the node ready.
    recovered: bool,
}

/// Attacks and shows; false when an attack cost another tenant more than the goals allow.
pub(crate) fn run(hostile: &Hostile) -> Result<bool, Box<dyn Error>> {
    // A binary of one's own is attacked by the build that is there.
    let again = if hostile.binary.is_none() { run_optimised() } else { None };
    again.unwrap_or_else(|| {
        let binary = hostile.binary.clone().map_or_else(build, Ok)?;
        let all = run_here(attack_all(hostile, &binary))?;
        hostile.format.show(&all, &AttackTable(&all))?;
        Ok(all.iter().all(AttackFigures::is_within_goals))
    })
}

async fn attack_all(
    hostile: &Hostile,
    binary: &Path,
) -> Result<Vec<AttackFigures>, Box<dyn Error>> {
    let chosen = match &hostile.attacks[..] {
        [] => Attack::value_variants(),
        some => some,
    };
    let mut all = Vec::new();
    for attack in chosen {
        note(&format!("{} for {} s", attack.name(), hostile.seconds));
        let length = Duration::from_secs(hostile.seconds);
        let figures = timeout(3 * length + BESIDES, one(*attack, binary, length)).await;
        let figures = figures.map_err(|late| Box::<dyn Error>::from(late.to_string())).flatten();
        let figures = figures.unwrap_or_else(|error| {
            note(&format!("{} was not measured: {error}", attack.name()));
            AttackFigures::not_measured(*attack)
        });
        note(&serde_json::to_string(&figures)?);
        all.push(figures);
    }
    Ok(all)
}

async fn one(
    attack: Attack,
    binary: &Path,
    length: Duration,
) -> Result<AttackFigures, Box<dyn Error>> {
    let mut site = AttackSite::start(binary, attack.endpoints()).await?;
    let before = site.victim.measure(length).await?;
    let attackers = attack.launch(&site);
    sleep(RAMP).await;
    let (cpu, begun) = (site.cpu_ms()?, Instant::now());
    let during = site.victim.measure(length).await?;
    let (used, took) = (site.cpu_ms()?, begun.elapsed());
    let cores = |at: usize| cores(Duration::from_millis(used[at].saturating_sub(cpu[at])), took);
    drop(attackers);
    sleep(REST).await;
    let after = site.victim.measure(length).await?;
    let ready = site.is_ready().await;
    Ok(AttackFigures {
        attack: attack.name(),
        victim_p99_ms_before: before.p99_ms,
        victim_p99_ms_during: during.p99_ms,
        victim_accepted_during: during.accepted,
        harness_late_p99_ms: during.late_p99_ms,
        node_cores: cores(0),
        harness_cores: cores(1),
        recovered: ready && is_good(&before, &after),
    })
}

/// To a hundredth.
fn cores(used: Duration, took: Duration) -> f64 {
    (used.as_secs_f64() / took.as_secs_f64() * 100.0).round() / 100.0
}

fn is_good(before: &VictimFigures, now: &VictimFigures) -> bool {
    now.accepted >= ACCEPTED && now.p99_ms <= (before.p99_ms * WORSE).max(LIMIT_MS)
}

impl AttackFigures {
    /// The row of an attack during which the victim could not be measured: nothing of it was accepted.
    fn not_measured(attack: Attack) -> Self {
        Self {
            attack: attack.name(),
            victim_p99_ms_before: 0.0,
            victim_p99_ms_during: 0.0,
            victim_accepted_during: 0.0,
            harness_late_p99_ms: 0.0,
            node_cores: 0.0,
            harness_cores: 0.0,
            recovered: false,
        }
    }

    fn is_within_goals(&self) -> bool {
        let limit = (self.victim_p99_ms_before * WORSE).max(LIMIT_MS);
        self.recovered
            && self.victim_accepted_during >= ACCEPTED
            && self.victim_p99_ms_during <= limit
    }
}

struct AttackTable<'a>(&'a [AttackFigures]);

impl fmt::Display for AttackTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| attack | p99 ms before | p99 ms during | of it the harness | cores of the node | of the harness \
             | accepted during | recovered |"
        )?;
        writeln!(f, "| --- |{} --- |", " ---: |".repeat(6))?;
        for row in self.0 {
            let (before, during) = (row.victim_p99_ms_before, row.victim_p99_ms_during);
            let share = row.victim_accepted_during * 100.0;
            let recovered = if row.recovered { "yes" } else { "no" };
            let AttackFigures { harness_late_p99_ms, node_cores, harness_cores, .. } = row;
            write!(f, "| {} | {before} | {during} | {harness_late_p99_ms} ", row.attack)?;
            writeln!(f, "| {node_cores} | {harness_cores} | {share:.1} % | {recovered} |")?;
        }
        Ok(())
    }
}
