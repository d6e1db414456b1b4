//! `GET /metrics`: a snapshot as families of Prometheus. Labels are the names of routes and of their destinations, which the
//! settings bound.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use stagger::breaker::StateKind;

use super::exposition::{CONTENT_TYPE, Exposition, FamilyKind};
use super::reply::of_type;
use crate::stats::{DestinationSnapshot, RouteSnapshot, Snapshot};

/// A figure of one destination, and the family that it is a sample of.
type DestinationFamily = (&'static str, &'static str, fn(&DestinationSnapshot) -> Option<u64>);

/// Counters of destinations. Those of a ledger are the same for all routes that share it.
const COUNTERS: [DestinationFamily; 16] = [
    ("stagger_proxy_calls_total", "Calls that were made or refused.", |it| Some(it.calls)),
    ("stagger_proxy_attempts_total", "Attempts of calls, the first ones included.", |it| {
        Some(it.attempts)
    }),
    ("stagger_proxy_retries_total", "Attempts after one that failed.", |it| Some(it.retries)),
    ("stagger_proxy_hedges_total", "Attempts beside one that is slow.", |it| Some(it.hedges)),
    ("stagger_proxy_calls_succeeded_total", "Calls that succeeded.", |it| Some(it.succeeded)),
    ("stagger_proxy_attempt_errors_total", "Attempts that brought no reply.", |it| Some(it.errors)),
    ("stagger_proxy_budget_grants_total", "Retries that the budget granted.", |it| {
        Some(it.ledger.grants)
    }),
    ("stagger_proxy_budget_refusals_total", "Retries that the budget refused.", |it| {
        Some(it.ledger.refusals)
    }),
    ("stagger_proxy_budget_refunds_total", "Grants given back without an attempt.", |it| {
        Some(it.ledger.refunds)
    }),
    ("stagger_proxy_budget_leased_total", "Permits that the fleet's store granted.", |it| {
        it.store.map(|store| store.leased)
    }),
    ("stagger_proxy_budget_lease_denied_total", "Permits that the store did not grant.", |it| {
        it.store.map(|store| store.lease_denied)
    }),
    (
        "stagger_proxy_budget_local_granted_total",
        "Retries granted by this proxy alone, because the store did not answer.",
        |it| it.store.map(|store| store.local_granted),
    ),
    ("stagger_proxy_budget_store_outages_total", "Times that the store stopped answering.", |it| {
        it.store.map(|store| store.outages)
    }),
    ("stagger_proxy_breaker_opened_total", "Times that the breaker opened.", |it| {
        it.ledger.breaker.map(|_| it.ledger.breaker_opened)
    }),
    ("stagger_proxy_breaker_refusals_total", "Attempts that the breaker refused.", |it| {
        it.ledger.breaker.map(|_| it.ledger.breaker_refusals)
    }),
    ("stagger_proxy_limit_refusals_total", "Attempts that a limit of the policy refused.", |it| {
        let ledger = &it.ledger;
        let limits = [
            ledger.concurrency_limit.map(|limit| limit.refusals),
            ledger.rate_limit.map(|limit| limit.refusals),
            ledger.adaptive.map(|limit| limit.refusals),
        ];
        limits.into_iter().flatten().reduce(|sum, one| sum.saturating_add(one))
    }),
];

/// The states of a breaker with their names as labels.
const STATES: [(StateKind, &str); 4] = [
    (StateKind::Closed, "closed"),
    (StateKind::Open, "open"),
    (StateKind::HalfOpen, "half_open"),
    (StateKind::Ramp, "ramp"),
];

/// Answers with all metrics.
pub(super) fn answer(snapshot: &Snapshot) -> Response<Full<Bytes>> {
    of_type(StatusCode::OK, CONTENT_TYPE, metrics(snapshot))
}

/// The name of a breaker's state.
pub(super) fn state_name(state: StateKind) -> &'static str {
    STATES.iter().find(|(kind, _)| *kind == state).map_or("unknown", |(_, name)| name)
}

/// All metrics as text.
pub(crate) fn metrics(snapshot: &Snapshot) -> String {
    let mut page = Exposition::default();
    of_process(&mut page, snapshot);
    of_routes(&mut page, &snapshot.routes);
    of_destinations(&mut page, &snapshot.routes);
    page.into_text()
}

fn of_process(page: &mut Exposition, snapshot: &Snapshot) {
    use FamilyKind::{Counter, Gauge};
    page.family("stagger_proxy_draining", Gauge, "1 while the proxy ends, else 0.")
        .sample(&[], u8::from(snapshot.draining));
    page.family("stagger_proxy_connections", Gauge, "Open connections of clients.")
        .sample(&[], snapshot.connections);
    page.family("stagger_proxy_connections_max", Gauge, "The most connections that may be open.")
        .sample(&[], snapshot.max_connections);
    page.family(
        "stagger_proxy_connections_refused_total",
        Counter,
        "Connections refused because all that are allowed were open.",
    )
    .sample(&[], snapshot.connections_refused);
    page.family(
        "stagger_proxy_unrouted_total",
        Counter,
        "Requests that no route takes, or that are malformed.",
    )
    .sample(&[], snapshot.unrouted);
    page.family("stagger_proxy_reloads_total", Counter, "Times that settings were read again.");
    page.sample(&[("result", "accepted")], snapshot.reloads);
    page.sample(&[("result", "refused")], snapshot.reloads_refused);
}

fn of_routes(page: &mut Exposition, routes: &[RouteSnapshot]) {
    use FamilyKind::{Counter, Gauge};
    page.family("stagger_proxy_in_flight", Gauge, "Calls in flight, tunnels included.");
    for route in routes {
        page.sample(&[("route", &route.name)], route.in_flight);
    }
    page.family("stagger_proxy_in_flight_max", Gauge, "The most calls that may be in flight.");
    for route in routes {
        page.sample(&[("route", &route.name)], route.max_in_flight);
    }
    page.family(
        "stagger_proxy_in_flight_refused_total",
        Counter,
        "Calls refused because the route had its most calls in flight.",
    );
    for route in routes {
        page.sample(&[("route", &route.name)], route.in_flight_refused);
    }
    page.family(
        "stagger_proxy_body_memory_bytes",
        Gauge,
        "Bytes of request bodies in memory, for another attempt or on their way to an upstream.",
    );
    for route in routes {
        page.sample(&[("route", &route.name)], route.body_bytes);
    }
}

fn of_destinations(page: &mut Exposition, routes: &[RouteSnapshot]) {
    use FamilyKind::{Counter, Gauge};
    for (name, help, figure) in COUNTERS {
        page.family(name, Counter, help);
        each(routes, |labels, it| {
            if let Some(value) = figure(it) {
                page.sample(&labels, value);
            }
        });
    }
    page.family("stagger_proxy_replies_total", Counter, "Replies to attempts by class of status.");
    each(routes, |[route, destination], it| {
        for (class, count) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(it.replies) {
            page.sample(&[route, destination, ("class", class)], count);
        }
    });
    page.family("stagger_proxy_stops_total", Counter, "Calls without success by stop reason.");
    each(routes, |[route, destination], it| {
        for (reason, count) in &it.stops {
            page.sample(&[route, destination, ("reason", reason)], count);
        }
    });
    page.family(
        "stagger_proxy_budget_retries",
        Gauge,
        "Retries that the budget would grant in a row from now on; +Inf without a limit.",
    );
    each(routes, |labels, it| match it.ledger.level.retries {
        u64::MAX => page.sample(&labels, "+Inf"),
        retries => page.sample(&labels, retries),
    });
    page.family(
        "stagger_proxy_budget_store_up",
        Gauge,
        "1 while the fleet's store answers, else 0.",
    );
    each(routes, |labels, it| {
        if let Some(store) = it.store {
            page.sample(&labels, u8::from(store.up));
        }
    });
    page.family("stagger_proxy_budget_permits", Gauge, "Leased permits that are left.");
    each(routes, |labels, it| {
        if let Some(store) = it.store {
            page.sample(&labels, store.permits);
        }
    });
    page.family("stagger_proxy_breaker_state", Gauge, "1 for the breaker's state, 0 for others.");
    each(routes, |[route, destination], it| {
        let Some(state) = it.ledger.breaker else { return };
        for (kind, name) in STATES {
            page.sample(&[route, destination, ("state", name)], u8::from(kind == state));
        }
    });
    page.family(
        "stagger_proxy_cool_off_seconds",
        Gauge,
        "The time for which the server asked to be left alone, from now on.",
    );
    each(routes, |labels, it| page.sample(&labels, it.cool_off.as_secs_f64()));
}

/// Shows each destination of each route with its labels.
fn each<'s>(
    routes: &'s [RouteSnapshot],
    mut show: impl FnMut([(&'static str, &'s str); 2], &'s DestinationSnapshot),
) {
    for route in routes {
        for destination in &route.destinations {
            show([("route", &route.name), ("destination", &destination.name)], destination);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::page::tests::busy;
    use super::*;

    #[test]
    fn a_family_was_without_a_description_or_described_twice() {
        let text = metrics(&busy());
        let words = |prefix: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
            lines.filter_map(|line| line.split([' ', '{']).next()).map(str::to_owned).collect()
        };
        let described = words("# HELP ");
        let set: BTreeSet<&String> = described.iter().collect();
        assert_eq!(set.len(), described.len(), "each once");
        for name in words("stagger_proxy").iter().map(|rest| format!("stagger_proxy{rest}")) {
            assert!(set.contains(&name), "{name} has a description");
        }
        assert_eq!(set.len(), 33, "{text}");
    }

    #[test]
    fn the_figures_of_a_destination_were_not_told() {
        let text = metrics(&busy());
        for line in [
            r#"stagger_proxy_calls_total{route="orders",destination="https://a.example:443"} 9"#,
            r#"stagger_proxy_attempts_total{route="orders",destination="https://a.example:443"} 10"#,
            r#"stagger_proxy_replies_total{route="orders",destination="https://a.example:443",class="5xx"} 4"#,
            r#"stagger_proxy_stops_total{route="orders",destination="https://a.example:443",reason="budget_empty"} 3"#,
            r#"stagger_proxy_breaker_state{route="orders",destination="https://a.example:443",state="closed"} 1"#,
            r#"stagger_proxy_cool_off_seconds{route="orders",destination="https://a.example:443"} 2.5"#,
            r#"stagger_proxy_in_flight{route="orders"} 2"#,
            r#"stagger_proxy_body_memory_bytes{route="orders"} 12288"#,
            r#"stagger_proxy_retries_total{route="orders",destination="https://a.example:443"} 1"#,
            r#"stagger_proxy_hedges_total{route="orders",destination="https://a.example:443"} 0"#,
            r#"stagger_proxy_budget_store_up{route="orders",destination="https://a.example:443"} 0"#,
            r#"stagger_proxy_budget_permits{route="orders",destination="https://a.example:443"} 3"#,
            r#"stagger_proxy_budget_local_granted_total{route="orders",destination="https://a.example:443"} 7"#,
            "stagger_proxy_connections 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
