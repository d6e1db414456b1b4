//! `GET /`: a page that shows routes, destinations and the last refusals at the moment of the request.

use std::time::UNIX_EPOCH;

use askama::Template;
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use stagger::{Instant, Span};
use stagger_text::{Timestamp, brief, percent, shown_size, whole};

use super::metrics::state_name;
use super::reply::{of_type, text};
use crate::stats::{DestinationSnapshot, Refusal, RouteSnapshot, Snapshot};

const STYLE: &str = include_str!("../../assets/page.css");
/// A blank that breaks no line, between groups of digits.
const BLANK: char = '\u{202f}';

/// The page as data.
#[derive(Debug, Template)]
#[template(path = "page.html")]
struct AdminPage {
    version: &'static str,
    draining: bool,
    reload_fault: Option<String>,
    connections: String,
    routes: Vec<RoutePart>,
    refusals: Vec<RefusalRow>,
}

/// One route with its destinations.
#[derive(Debug)]
struct RoutePart {
    name: String,
    listen: String,
    in_flight: String,
    bodies: String,
    destinations: Vec<DestinationRow>,
}

#[derive(Debug)]
struct DestinationRow {
    name: String,
    calls: String,
    /// Attempts a call, or a dash before the first one.
    attempts: String,
    retries: String,
    hedges: String,
    succeeded: String,
    breaker: &'static str,
    /// The rest of the breaker's open time.
    breaker_left: Option<String>,
    budget: String,
    /// The state of the fleet's store, and its class of style.
    store: Option<(&'static str, &'static str)>,
    cool_off: Option<String>,
}

#[derive(Debug)]
struct RefusalRow {
    at: String,
    route: String,
    stop: &'static str,
    status: u16,
    attempts: u32,
    detail: String,
}

/// Answers with the page.
pub(super) fn answer(snapshot: &Snapshot, refusals: Vec<Refusal>) -> Response<Full<Bytes>> {
    match AdminPage::of(snapshot, refusals).render() {
        Ok(page) => of_type(StatusCode::OK, "text/html; charset=utf-8", page),
        Err(error) => {
            tracing::error!(%error, "page not made");
            text(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be made\n")
        }
    }
}

/// Answers with its style sheet.
pub(super) fn style() -> Response<Full<Bytes>> {
    of_type(StatusCode::OK, "text/css; charset=utf-8", STYLE)
}

impl AdminPage {
    fn of(snapshot: &Snapshot, refusals: Vec<Refusal>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            draining: snapshot.draining,
            reload_fault: snapshot.reload_fault.clone(),
            connections: of_most(snapshot.connections, snapshot.max_connections),
            routes: snapshot.routes.iter().map(|route| RoutePart::of(route, snapshot.at)).collect(),
            refusals: refusals.into_iter().take(MOST_REFUSALS).map(RefusalRow::of).collect(),
        }
    }
}

/// Refusals on the page: more than fit a screen, few enough to be read.
const MOST_REFUSALS: usize = 50;

impl RoutePart {
    fn of(route: &RouteSnapshot, now: Instant) -> Self {
        let row = |destination| DestinationRow::of(destination, now);
        Self {
            name: route.name.clone(),
            listen: route.listen.to_string(),
            in_flight: of_most(route.in_flight, route.max_in_flight),
            bodies: shown_size(u64::try_from(route.body_bytes).unwrap_or(u64::MAX)),
            destinations: route.destinations.iter().map(row).collect(),
        }
    }
}

impl DestinationRow {
    fn of(destination: &DestinationSnapshot, now: Instant) -> Self {
        let ledger = &destination.ledger;
        Self {
            name: destination.name.clone(),
            calls: whole(destination.calls, BLANK),
            attempts: share(destination.attempts, destination.calls)
                .map_or_else(|| "–".to_owned(), |attempts| format!("{attempts:.2}")),
            retries: whole(destination.retries, BLANK),
            hedges: whole(destination.hedges, BLANK),
            succeeded: share(destination.succeeded, destination.calls)
                .map_or_else(|| "–".to_owned(), percent),
            breaker: ledger.breaker.map_or("none", state_name),
            breaker_left: ledger.breaker_until.map(|until| brief(until - now)),
            budget: match ledger.level.retries {
                u64::MAX => "unlimited".to_owned(),
                retries => whole(retries, BLANK),
            },
            store: destination.store.map(|store| match store.up {
                true => ("of the fleet", "closed"),
                false => ("own part, the store is away", "open"),
            }),
            cool_off: Some(destination.cool_off).filter(|left| *left > Span::ZERO).map(brief),
        }
    }
}

impl RefusalRow {
    fn of(refusal: Refusal) -> Self {
        let since = refusal.at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let nanos = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        Self {
            at: nanos.map_or_else(String::new, |nanos| {
                Timestamp(Instant::from_nanos(nanos)).to_string()
            }),
            route: refusal.route.unwrap_or_else(|| "none".to_owned()),
            stop: refusal.stop,
            status: refusal.status,
            attempts: refusal.attempts,
            detail: refusal.detail,
        }
    }
}

fn of_most(count: usize, most: usize) -> String {
    let [count, most] = [count, most].map(|n| whole(u64::try_from(n).unwrap_or(u64::MAX), BLANK));
    format!("{count} of {most}")
}

/// One count as a share of another; none of nothing.
fn share(part: u64, all: u64) -> Option<f64> {
    // OK because three digits are shown.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    (all > 0).then(|| part as f64 / all as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use stagger::{LocalLedger, Policy};

    use super::*;
    use crate::stats::StoreSnapshot;

    /// A proxy of one route, with a destination in trouble and a name that no page may believe.
    pub(in crate::ops) fn busy() -> Snapshot {
        let now = Instant::from_nanos(1_000_000_000);
        let policy = Policy::interactive();
        let policy = policy.to_builder().breaker(stagger::breaker::BreakerPlan::default()).build();
        let ledger = LocalLedger::new(&policy.expect("a policy")).stats(now);
        let store = StoreSnapshot {
            up: false,
            outages: 1,
            permits: 3,
            leased: 20,
            lease_denied: 5,
            local_granted: 7,
        };
        let destination = DestinationSnapshot {
            name: "https://a.example:443".to_owned(),
            calls: 9,
            attempts: 10,
            retries: 1,
            hedges: 0,
            succeeded: 6,
            errors: 0,
            replies: [0, 6, 0, 0, 4],
            stops: [("budget_empty", 3)].into_iter().collect(),
            ledger,
            store: Some(store),
            cool_off: Span::from_millis(2_500),
        };
        Snapshot {
            at: now,
            draining: false,
            connections: 3,
            max_connections: 1_024,
            connections_refused: 0,
            unrouted: 1,
            reloads: 1,
            reloads_refused: 1,
            reload_fault: Some("routes.toml: route.a.upstrem: unknown setting".to_owned()),
            routes: vec![RouteSnapshot {
                name: "orders".to_owned(),
                listen: "127.0.0.1:7878".parse().expect("an address"),
                in_flight: 2,
                max_in_flight: 1_024,
                in_flight_refused: 0,
                body_bytes: 12 << 10,
                destinations: vec![destination],
            }],
        }
    }

    fn refusals() -> Vec<Refusal> {
        vec![Refusal {
            at: Some(UNIX_EPOCH + Duration::from_millis(1_700_000_000_123)),
            route: Some("orders".to_owned()),
            destination: Some("https://a.example:443".to_owned()),
            stop: "budget_empty",
            status: 503,
            attempts: 1,
            detail: "<script>alert(1)</script>".to_owned(),
        }]
    }

    #[test]
    fn the_page_hid_a_refusal_or_believed_a_text() {
        let page = AdminPage::of(&busy(), refusals()).render().expect("a page");
        for shown in [
            "https://a.example:443",
            "1.11",
            "66.7",
            "budget_empty",
            "2023-11-14T22:13:20.123Z",
            "2.5 s",
            "unknown setting",
            "3 of 1024",
            "12 KiB of bodies",
            "own part, the store is away",
        ] {
            assert!(page.contains(shown), "{shown} in\n{page}");
        }
        assert!(!page.contains("<script"), "text is text");
    }

    #[test]
    fn a_proxy_without_calls_had_no_page() {
        let mut quiet = busy();
        let destination = &mut quiet.routes[0].destinations[0];
        (destination.calls, destination.attempts) = (0, 0);
        let page = AdminPage::of(&quiet, Vec::new()).render().expect("a page");
        assert!(page.contains("No call was refused"), "{page}");
    }
}
