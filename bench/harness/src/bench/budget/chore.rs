//! The layouts, how people put calls together; the load, calls at a steady rate to a server that is healthy first and then
//! down; and the table, with the bounds that its figures are held to.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::interval;
use xtask_workbench::{Format, note};

use super::shared::{LayoutCaller, policy};
use super::upstream::Upstream;
use super::{clients, shared};

/// Measures these layouts, all when none is named, in an outage of so many seconds. False when a bound is broken.
pub(in crate::bench) fn run(
    format: Format,
    layouts: &[Layout],
    seconds: u64,
) -> Result<bool, Box<dyn Error>> {
    let layouts = if layouts.is_empty() { Layout::value_variants() } else { layouts };
    let outage = OutagePlan::of(seconds);
    let rows = layouts.iter().map(|layout| outage.measure(*layout));
    let report = BudgetReport(rows.collect::<Result<_, _>>()?);
    format.show(&report.0, &report)?;
    let broken = report.broken();
    broken.iter().for_each(|bound| note(bound));
    Ok(broken.is_empty())
}

/// A layout of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(in crate::bench) enum Layout {
    /// A closure under a time limit for each attempt.
    Plain,
    /// The same, with the policy's deadline for the call.
    PolicyDeadline,
    /// The same, inside `tokio::time::timeout`.
    TokioTimeout,
    /// tower's layer, inside tower's `Timeout`.
    TowerTimeout,
    /// A handler of axum, whose client closes its connection.
    AxumDisconnect,
    /// A task that its owner aborts.
    Cancel,
    /// A second copy of a slow attempt.
    Hedged,
    /// Several items in one request.
    Batch,
    /// The HTTP layer over hyper, and a port on which nothing listens.
    RefusedPort,
    /// The layer for tonic's channels.
    Tonic,
    /// The client for reqwest.
    Reqwest,
    /// Four processes with one budget in Redis.
    SharedRedis,
}

impl Layout {
    /// A caller in this layout, whose attempts arrive at `upstream`.
    pub(super) async fn caller(self, upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
        match self {
            Self::Plain => Ok(shared::plain(upstream, policy())?),
            Self::PolicyDeadline => Ok(shared::policy_deadline(upstream)?),
            Self::TokioTimeout => Ok(shared::tokio_timeout(upstream)?),
            Self::TowerTimeout => clients::tower_timeout(upstream),
            Self::AxumDisconnect => clients::axum_disconnect(upstream),
            Self::Cancel => Ok(shared::cancel(upstream)?),
            Self::Hedged => Ok(shared::hedged(upstream)?),
            Self::Batch => Ok(shared::batch(upstream)?),
            Self::RefusedPort => clients::refused_port(upstream),
            Self::Tonic => clients::tonic(upstream),
            Self::Reqwest => clients::reqwest(upstream),
            Self::SharedRedis => shared::shared_redis(upstream).await,
        }
    }
}

/// The name by which `--layouts` and the JSON know it.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Between two calls.
const GAP: Duration = Duration::from_millis(10);
/// Calls a second.
const RATE: u64 = 100;
/// Seconds in which the server is healthy: two windows of the default budget.
const HEALTHY: u64 = 20;
/// Seconds of the outage before its retries are judged one by one: the window of the default budget.
const SETTLING: u64 = 10;
/// While all tasks wait for sockets, paused time jumps to the next timer, which might be a time limit. A timer each
/// millisecond keeps the jumps short.
const PULSE: Duration = Duration::from_millis(1);

/// An outage of so many seconds, more than [`SETTLING`].
#[derive(Clone, Copy, Debug)]
pub(super) struct OutagePlan {
    seconds: u64,
}

impl OutagePlan {
    pub(super) const fn of(seconds: u64) -> Self {
        Self { seconds }
    }

    /// Plays `layout` through the outage, in virtual time.
    pub(super) fn measure(self, layout: Layout) -> Result<LayoutRow, Box<dyn Error>> {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build()?;
        let arrivals = runtime.block_on(self.play(layout))?;
        Ok(self.row(layout, &arrivals))
    }

    async fn play(self, layout: Layout) -> Result<Vec<Duration>, Box<dyn Error>> {
        tokio::spawn(pulse());
        let upstream = Upstream::new(Duration::from_secs(HEALTHY));
        let call = layout.caller(upstream.clone()).await?;
        let mut calls = JoinSet::new();
        let mut tick = interval(GAP);
        for _ in 0..(HEALTHY + self.seconds) * RATE {
            tick.tick().await;
            calls.spawn(call());
            while calls.try_join_next().transpose()?.is_some() {}
        }
        while calls.join_next().await.transpose()?.is_some() {}
        Ok(upstream.arrivals())
    }

    /// The first attempt of a call arrives when the call begins, so what arrives besides is retries.
    fn row(self, layout: Layout, arrivals: &[Duration]) -> LayoutRow {
        let in_second = |second| arrivals.iter().filter(|at| at.as_secs() == second).count() as u64;
        let judged = HEALTHY + SETTLING..HEALTHY + self.seconds;
        let judged: Vec<u64> =
            judged.map(|second| in_second(second).saturating_sub(RATE)).collect();
        let retries = (arrivals.len() as u64).saturating_sub((HEALTHY + self.seconds) * RATE);
        LayoutRow::new(layout, self.seconds * RATE, retries, &judged)
    }
}

async fn pulse() {
    let mut pulse = interval(PULSE);
    loop {
        pulse.tick().await;
    }
}

/// Retries for each call: the tenth that the default budget promises, and its floor.
const MOST: f64 = 0.12;
/// With fewer, a layout does not retry, and so shows nothing.
const LEAST: f64 = 0.05;
/// The worst second by the mean one.
const WORST: f64 = 1.5;

/// The figures of one layout in the outage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct LayoutRow {
    layout: Layout,
    pub(super) calls: u64,
    pub(super) retries_on_wire: u64,
    /// Retries for each call.
    ratio: f64,
    /// The most retries in one second by the mean, after the first window.
    pub(super) worst_second_over_mean: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
impl LayoutRow {
    /// A layout's calls and retries, and its retries in each second after the first window.
    pub(super) fn new(layout: Layout, calls: u64, retries: u64, each_second: &[u64]) -> Self {
        let sum: u64 = each_second.iter().sum();
        let worst = each_second.iter().max().copied().unwrap_or(0);
        Self {
            layout,
            calls,
            retries_on_wire: retries,
            ratio: retries as f64 / calls as f64,
            worst_second_over_mean: worst as f64 * each_second.len() as f64 / sum.max(1) as f64,
        }
    }

    /// The bounds that the figures break.
    fn broken(&self) -> Vec<String> {
        let Self { ratio, worst_second_over_mean: worst, .. } = *self;
        let bounds = [
            (ratio > MOST, format!("ratio {ratio:.3} is above {MOST}")),
            (ratio < LEAST, format!("ratio {ratio:.3} is below {LEAST}")),
            (worst > WORST, format!("worst second over mean {worst:.2} is above {WORST}")),
        ];
        let broken = bounds.into_iter().filter(|(broken, _)| *broken);
        broken.map(|(_, what)| format!("{}: {what}", self.layout)).collect()
    }
}

/// The layouts, one a row.
#[derive(Debug)]
pub(super) struct BudgetReport(pub(super) Vec<LayoutRow>);

impl BudgetReport {
    /// Every bound that a layout breaks.
    pub(super) fn broken(&self) -> Vec<String> {
        self.0.iter().flat_map(LayoutRow::broken).collect()
    }
}

impl fmt::Display for BudgetReport {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| layout | calls | retries on the wire | ratio | worst second by the mean |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        self.0.iter().try_for_each(|row| {
            let LayoutRow { calls, retries_on_wire, ratio, worst_second_over_mean, .. } = row;
            write!(f, "| {} | {calls} | {retries_on_wire} | {ratio:.3} ", row.layout)?;
            writeln!(f, "| {worst_second_over_mean:.2} |")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_beside_the_calls_is_a_retry() {
        let outage = OutagePlan::of(20);
        let calls = 0..u32::try_from((HEALTHY + 20) * RATE).expect("few");
        let mut arrivals: Vec<_> = calls.map(|call| GAP * call).collect();
        // Three retries in the second 35 and one in the second 36; one after the last call.
        arrivals.extend([35_100, 35_200, 35_300, 36_500, 41_000].map(Duration::from_millis));
        let row = outage.row(Layout::Plain, &arrivals);
        assert_eq!((row.calls, row.retries_on_wire), (2_000, 5));
        // Four retries in ten seconds are 0.4 a second.
        assert!((row.worst_second_over_mean - 7.5).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn each_bound_is_held_alone() {
        let broken = |calls, retries, seconds: &[u64]| {
            BudgetReport(vec![LayoutRow::new(Layout::Plain, calls, retries, seconds)]).broken()
        };
        assert_eq!(broken(100, 12, &[3, 2, 2]), <[&str; 0]>::default());
        assert_eq!(broken(100, 13, &[3, 2, 2]), ["plain: ratio 0.130 is above 0.12"]);
        assert_eq!(broken(100, 4, &[3, 2, 2]), ["plain: ratio 0.040 is below 0.05"]);
        let bursts = broken(100, 12, &[4, 2, 2]);
        assert_eq!(bursts, ["plain: worst second over mean 1.50 is above 1.5"; 0]);
        assert_eq!(
            broken(100, 12, &[6, 2, 2]),
            ["plain: worst second over mean 1.80 is above 1.5"]
        );
    }

    #[test]
    fn a_row_has_the_name_of_its_layout() {
        let row = LayoutRow::new(Layout::SharedRedis, 100, 10, &[1]);
        assert!(
            BudgetReport(vec![row])
                .to_string()
                .contains("| shared-redis | 100 | 10 | 0.100 | 1.00 |")
        );
        let json = serde_json::to_string(&row).expect("figures are numbers");
        assert!(
            json.starts_with(r#"{"layout":"shared-redis","calls":100,"retries_on_wire":10,"#),
            "{json}"
        );
    }
}
