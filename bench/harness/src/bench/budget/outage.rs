//! The load: calls at a steady rate to a server that is healthy first, and then down.

use std::error::Error;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::interval;

use super::layout::Layout;
use super::report::LayoutRow;
use super::upstream::Upstream;

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
}
