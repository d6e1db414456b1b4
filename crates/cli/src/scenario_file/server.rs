//! `[server]`: what answers, when nothing is wrong with it.

use crate::toml_file::{Flaw, Reader};
use stagger_core::{Ratio, Span};
use stagger_sim::{
    Backend, Cancel, ColdStart, Full, Hop, QueueDiscipline, ServerRateLimit, Service, Workers,
};

/// More at once than any server works on.
const MAX_WORKERS: u32 = 10_000_000;
/// As many as there may be callers.
const MAX_QUEUE: u32 = 50_000_000;
/// Work that takes longer than a thousand times as long is a fault of its own kind: a stall.
pub(super) const MAX_FACTOR: f64 = 1_000.0;

/// Serves everybody at once, in no time, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Backend, Flaw> {
    let Some(server) = reader.table("server")? else { return Ok(Backend::UNLIMITED) };
    let backend = Backend {
        service: service(&server)?,
        workers: workers(&server)?,
        limit: limit(&server)?,
        cold_start: cold_start(&server)?,
        shards: server.count("shards", (1, Backend::MAX_SHARDS))?.unwrap_or(1),
    };
    server.done()?;
    Ok(backend)
}

fn service(server: &Reader<'_, '_>) -> Result<Service, Flaw> {
    let usual = server.span("service")?.unwrap_or(Span::ZERO);
    let exponential = server.word("service_law", &[("fixed", false), ("exponential", true)])?;
    let slow = server.span("slow_service")?;
    let share = server.ratio("slow_share", (0.0, 1.0))?;
    match (slow, share) {
        (None, None) if exponential == Some(true) => Ok(Service::Exponential(usual)),
        (None, None) => Ok(Service::Fixed(usual)),
        (Some(slow), Some(share)) if slow >= usual => {
            if exponential == Some(true) {
                return Err(server.wrong("service_law", "fixed beside slow_service"));
            }
            Ok(Service::Tail { usual, slow, share })
        }
        (Some(_), Some(_)) => Err(server.wrong("slow_service", "at least server.service")),
        (Some(_), None) => Err(server.wrong("slow_share", "set together with slow_service")),
        (None, Some(_)) => Err(server.wrong("slow_service", "set together with slow_share")),
    }
}

/// Without `workers` there is no queue, and nothing that could be said of one.
fn workers(server: &Reader<'_, '_>) -> Result<Option<Workers>, Flaw> {
    let count = server.count("workers", (1, MAX_WORKERS))?;
    let queue = server.count("queue", (0, MAX_QUEUE))?;
    let full = server.word("full", &[("refuse", Full::Refuse), ("drop", Full::Drop)])?;
    let order = server.word(
        "order",
        &[
            ("oldest-first", QueueDiscipline::OldestFirst),
            ("newest-first", QueueDiscipline::NewestFirst),
        ],
    )?;
    let cancel = server.word(
        "cancel",
        &[("never", Cancel::Never), ("expired", Cancel::Expired), ("hopeless", Cancel::Hopeless)],
    )?;
    let collapse = server.ratio("collapse", (0.0, 1.0))?;
    let Some(count) = count else {
        for (key, given) in [
            ("queue", queue.is_some()),
            ("full", full.is_some()),
            ("order", order.is_some()),
            ("cancel", cancel.is_some()),
            ("collapse", collapse.is_some()),
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
