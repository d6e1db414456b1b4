//! `[fleet]`: the processes that callers live in, and what those remember.

use stagger_core::{Ratio, Span};
use stagger_sim::{
    Away, Connections, Deposit, Fleet, LedgerModel, Paying, Scope, SharedBudget, Stretch,
};

use super::arrivals::instant;
use crate::toml_file::{Flaw, Reader, engine};

/// Each has a ledger for every shard, and keeps it in memory.
const MAX_PROCESSES: u32 = 1_000_000;
/// As in the engine's own budgets.
const MAX_BUCKET: u32 = 1_000_000;

/// A fleet that does not ask the budget of the policy.
const NO_WINDOW: &str = "left out where deposit, lifetime or shared is set";

/// One process with the budget of its policy, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Fleet, Flaw> {
    let Some(fleet) = reader.table("fleet")? else { return Ok(Fleet::default()) };
    let processes = fleet.count("processes", (1, MAX_PROCESSES))?.unwrap_or(1);
    let scope = fleet.word("scope", &[("host", Scope::Host), ("shard", Scope::Shard)])?;
    let connections = fleet.count("connections", (1, u32::MAX))?;
    let ledger = ledger(&fleet, processes)?;
    fleet.done()?;
    Ok(Fleet {
        processes,
        scope: scope.unwrap_or_default(),
        ledger,
        connections: connections.map(|count| Connections { count }),
        ..Fleet::default()
    })
}

fn ledger(fleet: &Reader<'_, '_>, processes: u32) -> Result<LedgerModel, Flaw> {
    let (deposit, lifetime, shared) =
        (fleet.table("deposit")?, fleet.table("lifetime")?, fleet.table("shared")?);
    let rules = [("paced", LedgerModel::Engine), ("block", LedgerModel::WindowBlock)];
    let rule = fleet.word("window_rule", &rules)?;
    match (deposit, lifetime, shared) {
        (None, None, None) => Ok(rule.unwrap_or_default()),
        _ if rule.is_some() => Err(fleet.wrong("window_rule", NO_WINDOW)),
        (Some(table), None, None) => Ok(LedgerModel::Deposit(bucket(&table)?)),
        (None, Some(table), None) => {
            let share = table.need("share", table.ratio("share", (0.0, 1.0))?)?;
            table.done()?;
            Ok(LedgerModel::Lifetime(share))
        }
        (None, None, Some(table)) => Ok(LedgerModel::Shared(leases(&table, processes)?)),
        _ => Err(fleet.flaw("must have at most one of deposit, lifetime and shared")),
    }
}

fn bucket(table: &Reader<'_, '_>) -> Result<Deposit, Flaw> {
    let words = [("calls", Paying::Calls), ("successes", Paying::Successes)];
    let paying = table.need("by", table.word("by", &words)?)?;
    let amount = table.ratio("amount", (0.0, 100.0))?.unwrap_or(Ratio::from_percent(10));
    let bucket = table.need("bucket", table.count("bucket", (1, MAX_BUCKET))?)?;
    table.done()?;
    Ok(Deposit { paying, amount, bucket })
}

fn leases(table: &Reader<'_, '_>, processes: u32) -> Result<SharedBudget, Flaw> {
    let budget = table.need("budget", table.value("budget"))?;
    let budget = engine(&table.name("budget"), budget)?;
    let lease = table.count("lease", (1, MAX_BUCKET))?.unwrap_or(10);
    let latency = table.span("latency")?.unwrap_or(Span::from_millis(1));
    let loss = table.ratio("loss", (0.0, 1.0))?.unwrap_or(Ratio::ZERO);
    let again = table.span("again")?.unwrap_or(latency.saturating_mul(4));
    if again <= latency.saturating_mul(2) {
        return Err(table.wrong("again", "more than twice latency"));
    }
    let down = (instant(table, "down_from")?, instant(table, "down_until")?);
    let down = match down {
        (Some(from), Some(until)) => Some(Stretch { from, until }),
        (None, None) => None,
        _ => return Err(table.flaw("must have both of down_from and down_until, or neither")),
    };
    let local = table.word("away", &[("local", true), ("refuse", false)])?.unwrap_or(true);
    let away = if local { Away::Local { nodes: processes } } else { Away::Refuse };
    table.done()?;
    Ok(SharedBudget { budget, lease, latency, loss, again, down, away })
}
