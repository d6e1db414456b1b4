//! `server.servers`, `server.balancer` and `server.eject`: a tier of servers behind a balancer.

use stagger_core::{Ratio, Span};
use stagger_sim::{Backend, Balancer, Ejection, Routing};
use stagger_text::settings::{Flaw, Reader};

const ROUTINGS: [(&str, Routing); 4] = [
    ("round-robin", Routing::RoundRobin),
    ("random", Routing::Random),
    ("least-requests", Routing::LeastRequests),
    ("two-choices", Routing::TwoChoices),
];

/// A server that fails more often in a row than this is not noticed by any run.
const MAX_FAILURES: u32 = 1_000_000;

/// The equal parts of a backend: shards that calls belong to, or servers that a balancer chooses from.
pub(super) fn parts(server: &Reader<'_, '_>) -> Result<(u32, Option<Balancer>), Flaw> {
    let shards = server.count("shards", (1, Backend::MAX_SHARDS))?;
    let servers = server.count("servers", (2, Backend::MAX_SHARDS))?;
    let routing = server.word("balancer", &ROUTINGS)?;
    let elsewhere = server.boolean("retry_elsewhere")?;
    let ejection = ejection(server)?;
    let Some(servers) = servers else {
        for (key, given) in [
            ("balancer", routing.is_some()),
            ("retry_elsewhere", elsewhere.is_some()),
            ("eject", ejection.is_some()),
        ] {
            if given {
                return Err(server.wrong(key, "set together with server.servers"));
            }
        }
        return Ok((shards.unwrap_or(1), None));
    };
    if shards.is_some() {
        return Err(server.wrong("servers", "left out beside shards"));
    }
    let balancer = Balancer {
        routing: routing.unwrap_or_default(),
        retry_elsewhere: elsewhere.unwrap_or(false),
        ejection,
    };
    Ok((servers, Some(balancer)))
}

/// The defaults are those of Envoy's outlier detection.
fn ejection(server: &Reader<'_, '_>) -> Result<Option<Ejection>, Flaw> {
    let Some(table) = server.table("eject")? else { return Ok(None) };
    let ejection = Ejection {
        failures: table.count("failures", (1, MAX_FAILURES))?.unwrap_or(5),
        lasts: table.above_zero("lasts")?.unwrap_or(Span::from_secs(30)),
        most: table.ratio("most", (0.0, 1.0))?.unwrap_or(Ratio::from_percent(10)),
    };
    table.done()?;
    Ok(Some(ejection))
}
