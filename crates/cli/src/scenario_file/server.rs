//! `[fleet]`, `[server]` and `[[fault]]`: the processes that callers live in, the server, and its faults.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    Away, Backend, Cancel, ColdStart, Connections, Deposit, Fault, Fleet, Full, Hop, LedgerModel,
    Paying, QueueDiscipline, Scope, ServerRateLimit, Service, SharedBudget, Stretch, Trouble,
    Workers,
};
use stagger_text::settings::{Flaw, Reader, engine};

use super::arrivals::instant;
use super::overload::{self, MAX_QUEUE, MAX_WORKERS};
use super::tier;

/// Each has a ledger for every shard, and keeps it in memory.
const MAX_PROCESSES: u32 = 1_000_000;

/// As in the engine's own budgets.
const MAX_BUCKET: u32 = 1_000_000;

/// A fleet that does not ask the budget of the policy.
const NO_WINDOW: &str = "left out where deposit, lifetime or shared is set";

/// One process with the budget of its policy, unless the table says otherwise.
pub(super) fn read_fleet(reader: &Reader<'_, '_>) -> Result<Fleet, Flaw> {
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

/// Work that takes longer than a thousand times as long is a fault of its own kind: a stall.
pub(super) const MAX_FACTOR: f64 = 1_000.0;

/// Serves everybody at once, in no time, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Backend, Flaw> {
    let Some(server) = reader.table("server")? else { return Ok(Backend::UNLIMITED) };
    let (shards, balancer) = tier::parts(&server)?;
    let backend = Backend {
        service: service(&server)?,
        workers: workers(&server)?,
        limit: limit(&server)?,
        cold_start: cold_start(&server)?,
        shards,
        balancer,
    };
    server.done()?;
    Ok(backend)
}

/// The laws of the time that work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceLaw {
    Fixed,
    Exponential,
    Lognormal,
    Pareto,
}

const SERVICE_LAWS: [(&str, ServiceLaw); 4] = [
    ("fixed", ServiceLaw::Fixed),
    ("exponential", ServiceLaw::Exponential),
    ("lognormal", ServiceLaw::Lognormal),
    ("pareto", ServiceLaw::Pareto),
];

fn service(server: &Reader<'_, '_>) -> Result<Service, Flaw> {
    let usual = server.span("service")?.unwrap_or(Span::ZERO);
    let law = server.word("service_law", &SERVICE_LAWS)?.unwrap_or(ServiceLaw::Fixed);
    let sigma = server.ratio("sigma", (0.01, 5.0))?;
    let shape = server.ratio("shape", (1.01, 100.0))?;
    let of_law = [
        (
            "sigma",
            sigma.is_some(),
            ServiceLaw::Lognormal,
            "set where service_law is lognormal alone",
        ),
        ("shape", shape.is_some(), ServiceLaw::Pareto, "set where service_law is pareto alone"),
    ];
    for (key, given, own, bound) in of_law {
        if given != (law == own) {
            return Err(server.wrong(key, bound));
        }
    }
    let slow = server.span("slow_service")?;
    let share = server.ratio("slow_share", (0.0, 1.0))?;
    match (slow, share) {
        (None, None) => Ok(match (law, sigma, shape) {
            (ServiceLaw::Exponential, ..) => Service::Exponential(usual),
            (_, Some(sigma), _) => Service::Lognormal { mean: usual, sigma },
            (_, _, Some(shape)) => Service::Pareto { mean: usual, shape },
            _ => Service::Fixed(usual),
        }),
        (Some(slow), Some(share)) if slow >= usual => {
            if law != ServiceLaw::Fixed {
                return Err(server.wrong("service_law", "fixed beside slow_service"));
            }
            Ok(Service::Tail { usual, slow, share })
        }
        (Some(_), Some(_)) => Err(server.wrong("slow_service", "at least server.service")),
        (Some(_), None) => Err(server.wrong("slow_share", "set together with slow_service")),
        (None, Some(_)) => Err(server.wrong("slow_service", "set together with slow_share")),
    }
}

const ORDERS: [(&str, QueueDiscipline); 5] = [
    ("oldest-first", QueueDiscipline::OldestFirst),
    ("newest-first", QueueDiscipline::NewestFirst),
    ("first-tries-first", QueueDiscipline::FirstTriesFirst),
    ("by-criticality", QueueDiscipline::ByCriticality),
    ("adaptive", QueueDiscipline::Adaptive),
];

/// Without `workers` there is no queue, and nothing that could be said of one.
fn workers(server: &Reader<'_, '_>) -> Result<Option<Workers>, Flaw> {
    let count = server.count("workers", (1, MAX_WORKERS))?;
    let queue = server.count("queue", (0, MAX_QUEUE))?;
    let full = server.word("full", &[("refuse", Full::Refuse), ("drop", Full::Drop)])?;
    let order = server.word("order", &ORDERS)?;
    let cancel = server.word(
        "cancel",
        &[("never", Cancel::Never), ("expired", Cancel::Expired), ("hopeless", Cancel::Hopeless)],
    )?;
    let collapse = server.ratio("collapse", (0.0, 1.0))?;
    let refusal = server.span("refusal")?;
    let shedding = overload::shedding(server)?;
    let crash = overload::crash(server)?;
    let scaling = overload::scaling(server, count.unwrap_or(1))?;
    let cache = overload::cache(server)?;
    let Some(count) = count else {
        for (key, given) in [
            ("queue", queue.is_some()),
            ("full", full.is_some()),
            ("order", order.is_some()),
            ("cancel", cancel.is_some()),
            ("collapse", collapse.is_some()),
            ("refusal", refusal.is_some()),
            ("shed", shedding.is_some()),
            ("crash", crash.is_some()),
            ("scale", scaling.is_some()),
            ("cache", cache.is_some()),
        ] {
            if given {
                return Err(server.wrong(key, "set together with server.workers"));
            }
        }
        return Ok(None);
    };
    Ok(Some(Workers {
        count,
        queue,
        full: full.unwrap_or_default(),
        order: order.unwrap_or_default(),
        cancel: cancel.unwrap_or_default(),
        collapse: collapse.unwrap_or(Ratio::ZERO),
        refusal: refusal.unwrap_or(Span::ZERO),
        shedding: shedding.unwrap_or_default(),
        crash,
        scaling,
        cache,
    }))
}

fn limit(server: &Reader<'_, '_>) -> Result<Option<ServerRateLimit>, Flaw> {
    let Some(table) = server.table("limit")? else { return Ok(None) };
    let attempts = table.count("attempts", (1, u32::MAX))?;
    let window = table.above_zero("window")?;
    let burst = table.count("burst", (1, u32::MAX))?;
    let every = table.above_zero("every")?;
    table.done()?;
    match (attempts, window, burst, every) {
        (Some(attempts), Some(window), None, None) => {
            Ok(Some(ServerRateLimit::Window { attempts, window }))
        }
        (None, None, Some(burst), Some(every)) => {
            Ok(Some(ServerRateLimit::Tokens { burst, every }))
        }
        _ => Err(table.flaw("must have either attempts and window, or burst and every")),
    }
}

fn cold_start(server: &Reader<'_, '_>) -> Result<Option<ColdStart>, Flaw> {
    let Some(table) = server.table("cold_start")? else { return Ok(None) };
    let factor = table.need("factor", table.ratio("factor", (1.0, MAX_FACTOR))?)?;
    let over = table.need("over", table.above_zero("over")?)?;
    table.done()?;
    Ok(Some(ColdStart { factor, over }))
}

/// Reads `[network]`: the time that an attempt or an answer is under way, none without `hop`.
pub(super) fn network(reader: &Reader<'_, '_>) -> Result<Hop, Flaw> {
    let Some(network) = reader.table("network")? else { return Ok(Hop::None) };
    let hop = network.above_zero("hop")?;
    let exponential = network.word("law", &[("fixed", false), ("exponential", true)])?;
    network.done()?;
    Ok(match (hop, exponential.unwrap_or(false)) {
        (None, _) => Hop::None,
        (Some(hop), false) => Hop::Fixed(hop),
        (Some(hop), true) => Hop::Exponential(hop),
    })
}

#[derive(Clone, Copy)]
enum FaultKind {
    Refuse,
    PortClosed,
    Forbid,
    Hang,
    Silence,
    Stall,
    Failing,
    Slow,
    Flush,
}

const KINDS: [(&str, FaultKind); 9] = [
    ("flush", FaultKind::Flush),
    ("forbid", FaultKind::Forbid),
    ("refuse", FaultKind::Refuse),
    ("port-closed", FaultKind::PortClosed),
    ("hang", FaultKind::Hang),
    ("silence", FaultKind::Silence),
    ("stall", FaultKind::Stall),
    ("failing", FaultKind::Failing),
    ("slow", FaultKind::Slow),
];

/// Any number of them.
pub(super) fn read_faults(reader: &Reader<'_, '_>, backend: &Backend) -> Result<Vec<Fault>, Flaw> {
    reader.tables("fault")?.iter().map(|fault| one(fault, backend)).collect()
}

fn one(table: &Reader<'_, '_>, backend: &Backend) -> Result<Fault, Flaw> {
    let kind = table.need("kind", table.word("kind", &KINDS)?)?;
    let from = instant(table, "from")?.unwrap_or(Instant::ORIGIN);
    let until = if matches!(kind, FaultKind::Flush) { from } else { until(table, from)? };
    let shard = shard(table, backend)?;
    let trouble = match kind {
        FaultKind::Refuse => match table.span("retry_after")? {
            Some(after) => Trouble::RefuseFor(after),
            None => Trouble::Refuse,
        },
        FaultKind::PortClosed => Trouble::PortClosed,
        FaultKind::Forbid => {
            Trouble::Forbid(table.need("share", table.ratio("share", (0.0, 1.0))?)?)
        }
        FaultKind::Hang => Trouble::Hang,
        FaultKind::Silence => Trouble::Silence,
        FaultKind::Stall => Trouble::Stall,
        FaultKind::Failing => {
            Trouble::Failing(table.need("share", table.ratio("share", (0.0, 1.0))?)?)
        }
        FaultKind::Flush => {
            if backend.workers.is_none_or(|workers| workers.cache.is_none()) {
                return Err(table.flaw("a flush needs server.cache"));
            }
            Trouble::Flush(table.need("share", table.ratio("share", (0.0, 1.0))?)?)
        }
        FaultKind::Slow => {
            Trouble::Slow(table.need("factor", table.ratio("factor", (1.0, MAX_FACTOR))?)?)
        }
    };
    table.done()?;
    if matches!(kind, FaultKind::Hang | FaultKind::Stall) && until == Instant::FAR {
        return Err(table.flaw("a hang or a stall must end: set lasts or until"));
    }
    Ok(Fault { from, until, shard, trouble })
}

/// The shard or the server that has it; all of them without a number.
fn shard(table: &Reader<'_, '_>, backend: &Backend) -> Result<Option<u32>, Flaw> {
    let last = backend.shards - 1;
    if backend.balancer.is_none() {
        return table.count("shard", (0, last));
    }
    table.count("server", (0, last))
}

/// Said as a length or as a time, or never.
fn until(table: &Reader<'_, '_>, from: Instant) -> Result<Instant, Flaw> {
    match (table.span("lasts")?, instant(table, "until")?) {
        (Some(_), Some(_)) => Err(table.wrong("lasts", "left out beside until")),
        (Some(lasts), None) => Ok(from + lasts),
        (None, Some(until)) if until < from => Err(table.wrong("until", "at or after from")),
        (None, Some(until)) => Ok(until),
        (None, None) => Ok(Instant::FAR),
    }
}
