//! The processes of a fleet, the phases of their run, their ledger and their counts.

use std::env;
use std::error::Error;
use std::ops::AddAssign;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stagger::adaptive::{AdaptiveReport, Pacing};
use stagger::breaker::Report;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{Clock, Entropy, Instant, Span, StdTime};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The longest time that a process may take to report its counts, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// All processes; killed when dropped.
#[derive(Debug)]
pub(super) struct Processes(Vec<Process>);

#[derive(Debug)]
struct Process {
    child: Child,
    orders: ChildStdin,
    counts: Lines<BufReader<ChildStdout>>,
}

impl Processes {
    /// So many processes, each told `arguments`.
    pub(super) fn start(processes: u32, arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let program = env::current_exe()?;
        let start = |_| {
            let mut command = Command::new(&program);
            command.arg("member").args(arguments).kill_on_drop(true);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let orders = child.stdin.take().ok_or("no standard input")?;
            let counts = child.stdout.take().ok_or("no standard output")?;
            Ok(Process { child, orders, counts: BufReader::new(counts).lines() })
        };
        (0..processes).map(start).collect::<Result<_, Box<dyn Error>>>().map(Self)
    }

    /// The counts of all processes since the last call.
    pub(super) async fn count(&mut self) -> Result<Count, Box<dyn Error>> {
        for process in &mut self.0 {
            process.orders.write_all(b"count\n").await?;
        }
        let mut sum = Count::default();
        for process in &mut self.0 {
            let line = timeout(PATIENCE, process.counts.next_line()).await??;
            sum += serde_json::from_str(&line.ok_or("a process has ended")?)?;
        }
        Ok(sum)
    }

    /// Ends them, as a fleet that is shut down.
    pub(super) async fn end(self) -> Result<(), Box<dyn Error>> {
        let mut children = Vec::new();
        for process in self.0 {
            drop(process.orders);
            children.push(process.child);
        }
        for mut child in children {
            let status = timeout(PATIENCE, child.wait()).await??;
            if !status.success() {
                return Err(format!("a process ended with {status}").into());
            }
        }
        Ok(())
    }
}

/// The budget of a member: 10 % of the first attempts, and one retry a second besides.
const ONE_IN: u64 = 10;
const WINDOW_S: u64 = 10;

/// The results of the fleet in one phase.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct FleetPhase {
    pub(super) seconds: u64,
    pub(super) first_attempts: u64,
    pub(super) retries_shared: u64,
    /// The retries that as many local budgets granted at the same time.
    pub(super) retries_local: u64,
    /// The retries that one budget allows over these first attempts.
    pub(super) limit: u64,
    /// Permits that processes held when it began: they may be used on top.
    pub(super) outstanding_leases: u64,
    /// The unused limit of the phase before: its last first attempts are still in the window.
    pub(super) left_over: u64,
    /// Processes that took the store for away when it ended.
    pub(super) away: u64,
    pub(super) max_wait_us: u64,
}

impl FleetPhase {
    /// A phase after `before`, at whose end processes held so many permits.
    pub(super) fn new(seconds: u64, count: Count, before: Option<&Self>, held: u64) -> Self {
        // The floor's window may be untouched when a phase begins.
        let floor = seconds + WINDOW_S;
        Self {
            seconds,
            first_attempts: count.firsts,
            retries_shared: count.retries_shared,
            retries_local: count.retries_local,
            limit: count.firsts / ONE_IN + floor,
            outstanding_leases: held,
            left_over: before.map_or(0, |phase| phase.limit.saturating_sub(phase.retries_shared)),
            away: count.away,
            max_wait_us: count.shared_us,
        }
    }

    /// Whether there were not too many retries.
    pub(super) const fn is_within(&self) -> bool {
        self.retries_shared <= self.limit + self.outstanding_leases + self.left_over
    }
}

/// Notes how long the ledger takes to answer, by the wall clock: whatever the machine does besides
/// is in it.
#[derive(Debug)]
pub(super) struct Timed<L> {
    pub(super) ledger: Arc<L>,
    longest_us: AtomicU64,
}

impl<L> Timed<L> {
    pub(super) fn new(ledger: Arc<L>) -> Self {
        Self { ledger, longest_us: AtomicU64::new(0) }
    }

    /// The longest since this was asked last.
    pub(super) fn take_longest(&self) -> u64 {
        self.longest_us.swap(0, Ordering::Relaxed)
    }

    fn time<T>(&self, work: impl FnOnce(&L) -> T) -> T {
        let begun = StdTime.now();
        let answer = work(&self.ledger);
        let took = StdTime.now() - begun;
        self.longest_us.fetch_max(took.as_nanos() / 1_000, Ordering::Relaxed);
        answer
    }
}

impl<L> Ledger for &Timed<L>
where
    for<'l> &'l L: Ledger,
{
    fn on_first(&mut self, now: Instant) {
        self.time(|mut ledger| ledger.on_first(now));
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        self.time(|mut ledger| ledger.ask(now, charge))
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        self.time(|mut ledger| ledger.refund(now, paid));
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.time(|mut ledger| ledger.on_settled(now, settled));
    }

    fn admit(&mut self, now: Instant) -> Admission {
        self.time(|mut ledger| ledger.admit(now))
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        self.time(|mut ledger| ledger.pace(now))
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        self.time(|mut ledger| ledger.on_paced(now, report));
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        self.time(|mut ledger| ledger.enter(now, permit, longest))
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        self.time(|mut ledger| ledger.leave(now, permit));
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.time(|mut ledger| ledger.watch(permit, waker))
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        self.time(|mut ledger| ledger.report(now, ticket, report, entropy));
    }
}

/// Counts since the last phase ended.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Count {
    /// First attempts with the shared budget; as many were made with the local one.
    pub(super) firsts: u64,
    pub(super) retries_shared: u64,
    pub(super) retries_local: u64,
    /// Leased permits that are left.
    pub(super) held: u64,
    /// Processes that take the store for away.
    pub(super) away: u64,
    /// The longest that anything took which was asked of the ledger, in microseconds.
    pub(super) shared_us: u64,
    pub(super) local_us: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.firsts += other.firsts;
        self.retries_shared += other.retries_shared;
        self.retries_local += other.retries_local;
        self.held += other.held;
        self.away += other.away;
        self.shared_us = self.shared_us.max(other.shared_us);
        self.local_us = self.local_us.max(other.local_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_retry_too_many_is_seen() {
        let count = Count { firsts: 1_000, retries_shared: 100 + 15 + 7, ..Count::default() };
        assert!(FleetPhase::new(5, count, None, 7).is_within());
        let phase = FleetPhase::new(5, count, None, 6);
        assert!(!phase.is_within());
        // One that used up its limit leaves nothing.
        assert!(!FleetPhase::new(5, count, Some(&phase), 6).is_within());
        let thrifty = FleetPhase::new(5, Count { retries_shared: 114, ..count }, None, 0);
        assert!(FleetPhase::new(5, count, Some(&thrifty), 6).is_within());
    }
}
