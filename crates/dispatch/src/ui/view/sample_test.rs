//! Sample pages: for tests of templates, and for looking at pages without a dispatcher.

use askama::Template;
use stagger::breaker::StateKind;
use stagger::{Instant, Policy, Span, Verdict};
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    Application, DeliveryState, Disabled, Endpoint, EndpointState, EventFilter, HeaderTemplate,
    Opened, Pace, Secret, SecretKind, Statuses,
};
use uuid::Uuid;

use super::*;
use crate::access::Role;
use crate::node::{AttemptRates, MinuteResults, Second};

/// A text that would run a script if a page did not escape it.
pub(in crate::ui) const HOSTILE: &str = "\"'><script>alert(1)</script>&lt;";

/// Makes pages out of nice words, or of hostile ones wherever others choose the words.
#[derive(Clone, Copy, Debug)]
pub(in crate::ui) struct Sample {
    pub(in crate::ui) is_hostile: bool,
    pub(in crate::ui) now: Instant,
}

impl Sample {
    /// All pages with their paths.
    pub(in crate::ui) fn pages(self) -> Vec<(&'static str, String)> {
        vec![
            ("/", self.overview().render().unwrap()),
            ("/new", OverviewPage { is_new: true, ..self.overview() }.render().unwrap()),
            ("/calm", OverviewPage { unhealthy: vec![], ..self.overview() }.render().unwrap()),
            ("/ui/applications", self.applications().render().unwrap()),
            ("/ui/application", self.application().render().unwrap()),
            ("/ui/endpoint", self.endpoint().render().unwrap()),
            ("/ui/deliveries", self.deliveries(Section::Deliveries).render().unwrap()),
            ("/ui/dead", self.deliveries(Section::Dead).render().unwrap()),
            ("/ui/delivery", self.delivery().render().unwrap()),
            ("/ui/keys", self.keys().render().unwrap()),
            ("/ui/search", self.search().render().unwrap()),
            ("/ui/sign-in", self.sign_in().render().unwrap()),
            ("/ui/trouble", self.error().render().unwrap()),
        ]
    }

    fn text(self, nice: &str) -> String {
        if self.is_hostile { HOSTILE.into() } else { nice.into() }
    }

    fn moment(self, secs: i64) -> Moment {
        let far = Span::from_secs(secs.unsigned_abs());
        let at = if secs < 0 {
            Instant::ORIGIN + (self.now - Instant::ORIGIN - far)
        } else {
            self.now + far
        };
        Moment::new(at, self.now)
    }

    fn frame(self, section: Section, note: Option<Note>) -> Frame {
        let frame = Frame::new(self.now, section, "/".into(), note, Role::Admin);
        Frame { operator: self.text("alice@example.org"), ..frame }
    }

    /// An outage, its end, and the backlog leaving.
    pub(in crate::ui) fn attempt_rates(self) -> AttemptRates {
        let start = self.now - Instant::ORIGIN - Span::from_secs(300);
        let second = |n: u32| {
            let first = 38 + (n * 7919) % 17;
            let retries = match n {
                60..140 => (n * 31) % 9,
                140..220 => ((n - 140) * 2).min(90) + (n * 13) % 11,
                220..250 => (250 - n) * 3,
                _ => 0,
            };
            Second { at: Instant::ORIGIN + start + Span::from_secs(n.into()), first, retries }
        };
        AttemptRates { seconds: (0..300).map(second).collect() }
    }

    fn overview(self) -> OverviewPage {
        OverviewPage {
            frame: self.frame(Section::Overview, None),
            chart: Chart::new(&self.attempt_rates(), None),
            tiles: self.tiles(),
            unhealthy: self.rows().split_off(1),
            more: Some("12".into()),
            is_new: false,
            has_endpoints: true,
            nodes: vec![self.node(true), self.node(false)],
        }
    }

    fn node(self, is_this: bool) -> NodeLine {
        NodeLine {
            name: self.text("10.0.0.7:8080"),
            version: self.text("0.4.0"),
            started: is_this.then(|| self.moment(-86_400)),
            last_seen: self.moment(-1),
            shards: 128,
            draining: !is_this,
            is_this,
        }
    }

    fn tiles(self) -> Vec<Tile> {
        let counts = [312, 4_180, 1_204_771, 17, 3];
        let tile = |(state, count): (DeliveryState, u64)| Tile {
            name: state.name(),
            count: figure(count),
            href: format!("/ui/deliveries?state={}", state.name()),
        };
        DeliveryState::ALL.into_iter().zip(counts).map(tile).collect()
    }

    fn keys(self) -> KeysPage {
        let key = |application: Option<&str>, has_expired| KeyLine {
            id: "key_0190163d8694739b84f6b0d3ccc3a5a1".into(),
            name: self.text("billing service"),
            scopes: vec!["endpoints:read", "messages:write"],
            application: application.map(|name| self.text(name)),
            has_expired,
            expires: has_expired.then(|| self.moment(-60)),
            last_used: has_expired.then(|| "2026-11-30".into()),
        };
        let keys = vec![key(None, false), key(Some("Acme Billing"), true)];
        KeysPage { frame: self.frame(Section::Keys, None), keys }
    }

    fn applications(self) -> ApplicationsPage {
        let applications = vec![self.application_line(), self.application_line()];
        ApplicationsPage { frame: self.frame(Section::Applications, None), applications }
    }

    fn application_line(self) -> ApplicationLine {
        ApplicationLine {
            id: "app_0190163d8694739b84f6b0d3ccc3a5a1".into(),
            name: self.text("Acme Billing"),
            endpoints: "5".into(),
            slots: "256".into(),
            retention: "30d".into(),
            created: self.moment(-86_400 * 40),
        }
    }

    fn application(self) -> ApplicationPage {
        ApplicationPage {
            frame: self.frame(Section::Applications, None),
            application: self.application_line(),
            endpoints: self.rows(),
            more: None,
        }
    }

    fn rows(self) -> Vec<EndpointRow> {
        let opened = Opened { until: self.now, open_time: Span::from_secs(5) };
        let endpoint_state =
            EndpointState { failing_since: Some(self.now), ..EndpointState::default() };
        let queue = |endpoint_state, breaker| QueueView {
            endpoint_state,
            breaker,
            next_probe: (breaker == StateKind::Open).then_some(self.now + Span::from_secs(23)),
            ready: 12,
            waiting: 4_180,
            in_flight: 3,
            rate: (breaker == StateKind::Ramp).then_some(37),
        };
        let paused =
            EndpointState { paused_until: Some(self.now + Span::from_secs(90)), ..endpoint_state };
        let gone = EndpointState { disabled: Some(Disabled::Gone), ..endpoint_state };
        let queues = [
            queue(EndpointState::default(), StateKind::Closed),
            queue(EndpointState { open: Some(opened), ..endpoint_state }, StateKind::Open),
            queue(endpoint_state, StateKind::HalfOpen),
            queue(EndpointState::default(), StateKind::Ramp),
            queue(paused, StateKind::Closed),
            queue(gone, StateKind::Closed),
        ];
        let row = |queue: &QueueView| {
            EndpointRow::new(&self.endpoint_settings(), &self.tenant(), queue, self.now)
        };
        let explained = |row: EndpointRow| {
            let failure = row.failing_since.is_some().then(|| self.failure());
            EndpointRow { failure, ..row }
        };
        queues.iter().map(row).map(explained).collect()
    }

    fn tenant(self) -> Application {
        Application {
            id: stagger_scheduler::model::ApplicationId::from_uuid(Uuid::from_u128(1)),
            name: self.text("Acme Billing"),
            keys: Vec::new(),
            slots: std::num::NonZeroU32::MIN,
            created_at: self.now,
            labels: Default::default(),
            portal: stagger_scheduler::model::PortalAccess::default(),
            retention: None,
            source: None,
            event_validation: None,
        }
    }

    fn endpoint_settings(self) -> Endpoint {
        Endpoint {
            id: stagger_scheduler::model::EndpointId::from_uuid(Uuid::from_u128(2)),
            application: stagger_scheduler::model::ApplicationId::from_uuid(Uuid::from_u128(1)),
            url: self.text("https://hooks.customer.example/stagger/in"),
            description: self.text("Ledger of the second region"),
            events: EventFilter::Only(vec!["invoice.paid".parse().unwrap()]),
            channels: Vec::new(),
            filter: None,
            labels: Default::default(),
            policy: Policy::webhook(),
            timeout: Span::from_secs(30),
            pace: Pace::default(),
            ordered: false,
            permanent: Statuses::try_from(vec![422]).unwrap(),
            disable_after: Span::from_secs(5 * 86_400),
            format: Default::default(),
            signatures: Default::default(),
            handshake: true,
            destination: None,
            secrets: vec![Secret {
                kind: SecretKind::Symmetric,
                key: b"never shown to anybody".to_vec(),
                until: None,
            }],
            headers: vec![
                HeaderTemplate {
                    name: "x-tenant".into(),
                    value: self.text("acme"),
                    sensitive: false,
                },
                HeaderTemplate {
                    name: "authorization".into(),
                    value: "Bearer never-shown".into(),
                    sensitive: true,
                },
            ],
            auth: None,
            created_at: self.now,
            updated_at: self.now,
        }
    }

    fn endpoint(self) -> EndpointPage {
        EndpointPage {
            frame: self.frame(Section::Applications, Some(Note::Replayed(1_204))),
            id: "ep_0190163d8694739b84f6b0d3ccc3a5a1".into(),
            row: EndpointRow { failure: Some(self.failure()), ..self.rows().swap_remove(1) },
            is_disabled: false,
            errors: ErrorBars::new(&self.results()),
            chart: Chart::new(&self.attempt_rates(), None),
            tiles: self.tiles(),
            settings: Settings::new(&self.endpoint_settings(), self.now),
            deliveries: self.lines(),
        }
    }

    fn failure(self) -> FailureLine {
        FailureLine {
            result: "503 Service Unavailable".into(),
            detail: self.text(""),
            at: self.moment(-40),
            reply: self.text("{\"error\":\"the ledger is read-only until 14:00\"}"),
            delivery: "/ui/delivery".into(),
        }
    }

    /// An outage that began twenty minutes ago.
    fn results(self) -> Vec<MinuteResults> {
        let minute = |n: u32| {
            let ended = 30 + (n * 7919) % 17;
            MinuteResults { ended, failed: if n < 40 { n % 3 } else { ended - n % 5 } }
        };
        (0..60).map(minute).collect()
    }

    fn search(self) -> SearchPage {
        SearchPage {
            frame: self.frame(Section::Outside, None),
            text: self.text("hooks.customer"),
            endpoints: self.rows(),
            deliveries: self.lines(),
        }
    }

    fn lines(self) -> Vec<DeliveryLine> {
        let line = |n: u8| {
            let state = DeliveryState::ALL[usize::from(n % 5)];
            let href = "/ui/delivery".to_owned();
            DeliveryLine {
                replay: (!state.is_open()).then(|| href.clone()),
                retry: (state == DeliveryState::Waiting).then(|| href.clone()),
                href,
                message: format!("msg_0190163d8694739b84f6b0d3ccc3a5{n:02x}"),
                event_type: ["invoice.paid", "customer.subscription.updated"][usize::from(n % 2)]
                    .into(),
                url: self.text("https://hooks.customer.example/stagger/in"),
                endpoint_href: "/ui/endpoint".into(),
                state: state.into(),
                reason: if state == DeliveryState::Dead { "no attempts left" } else { "" },
                attempts: n.into(),
                due: (n > 0 && state.is_open()).then(|| self.moment(40 * i64::from(n))),
                updated: self.moment(-50 * i64::from(n)),
            }
        };
        (0..12).map(line).collect()
    }

    fn deliveries(self, section: Section) -> DeliveriesPage {
        let is_dead = section == Section::Dead;
        let states = DeliveryState::ALL.map(|s| (s.name(), "/ui/deliveries".to_owned(), false));
        DeliveriesPage {
            frame: self.frame(section, None),
            title: if is_dead { "Dead letters" } else { "Deliveries" },
            filter: Filter {
                path: "/ui/deliveries",
                states: if is_dead { vec![] } else { states.into() },
                endpoint: self.text(""),
                event_type: self.text(""),
                endpoints: vec![("ep_01".into(), self.text("https://hooks.customer.example"))],
                error: self.is_hostile.then(|| HOSTILE.into()),
                ..Filter::default()
            },
            deliveries: self.lines(),
            older: Some("/ui/deliveries?cursor=a".into()),
            is_first: false,
            again: is_dead.then_some("/ui/dead/replay"),
        }
    }

    fn delivery(self) -> DeliveryPage {
        DeliveryPage {
            frame: self.frame(Section::Deliveries, Some(Note::TestSent)),
            path: "/ui/delivery".into(),
            message: "msg_0190163d8694739b84f6b0d3ccc3a5a1".into(),
            event_type: "invoice.paid".into(),
            accepted: Some(self.moment(-4_000)),
            size: "812 B".into(),
            content_type: self.text("application/json"),
            idempotency_key: self.text("order-1204"),
            url: self.text("https://hooks.customer.example/stagger/in"),
            endpoint_href: "/ui/endpoint".into(),
            application: self.text("Acme Billing"),
            application_href: "/ui/application".into(),
            state: DeliveryState::Waiting.into(),
            is_open: true,
            reason: "",
            due: Some(self.moment(754)),
            replays: 1,
            attempts: self.attempts(),
            payload: Some(self.text("{\"invoice\": \"in_17\", \"amount\": 1250}")),
            payload_rest: Some("3.1 KiB".into()),
            headers: format!("content-type: application/json\nx-tenant: {}", self.text("acme")),
        }
    }

    fn attempts(self) -> Vec<AttemptLine> {
        let line =
            |number: u32, result: &str, verdict: Verdict, reason: &str, reply: &str| AttemptLine {
                number,
                started: self.moment(-4_000 + 900 * i64::from(number)),
                latency: "214 ms".into(),
                result: result.into(),
                verdict: verdict.into(),
                reason: self.text(reason),
                hint: (number == 3).then(|| "2 min".into()),
                next: Some(self.moment(-4_000 + 900 * (i64::from(number) + 1))),
                delay: Some("15 min".into()),
                reply: self.text(reply),
                limit: (number == 1).then_some(1024),
            };
        vec![
            line(4, "timeout", Verdict::Transient, "no head of a reply within 30s", ""),
            line(3, "429 Too Many Requests", Verdict::Throttled, "", "{\"error\":\"slow down\"}"),
            line(2, "connect", Verdict::Unprocessed, "connection refused (os error 111)", ""),
            line(
                1,
                "503 Service Unavailable",
                Verdict::Throttled,
                "",
                "<html>\n<head><title>503 Service Temporarily Unavailable</title></head>\n<body>\n<center><h1>503</h1></center>",
            ),
        ]
    }

    fn sign_in(self) -> SignInPage {
        let error = Some("This is not the admin key.".into());
        SignInPage {
            frame: self.frame(Section::Outside, None),
            next: self.text("/"),
            provider: None,
            error,
        }
    }

    fn error(self) -> ErrorPage {
        let frame = self.frame(Section::Outside, None);
        ErrorPage { frame, title: "Not here", detail: self.text("There is no such endpoint.") }
    }
}

#[test]
fn no_words_of_others_become_markup() {
    let sample = Sample { is_hostile: true, now: Instant::ORIGIN + Span::from_secs(1 << 30) };
    for (path, html) in sample.pages() {
        assert!(!html.contains("<script>"), "{path}");
        assert!(!html.contains("\"'>"), "{path}");
        assert!(!html.contains(" style=") && !html.contains(" onclick="), "{path}");
    }
    assert!(sample.delivery().render().unwrap().contains("&#60;script&#62;"));
}

#[test]
fn secrets_are_not_shown() {
    let sample = Sample { is_hostile: false, now: Instant::ORIGIN };
    let html = sample.endpoint().render().unwrap();
    assert!(html.contains("v1 (HMAC-SHA256)") && html.contains("authorization: (not shown)"));
    assert!(!html.contains("never"));
}

/// Made-up pages to look at: `STAGGER_SAMPLE=127.0.0.1:8099`, and the tests that are ignored.
#[tokio::test]
#[ignore = "serves until it is stopped"]
async fn serve_made_up_pages() {
    use axum::routing::get;
    let now = || {
        Instant::ORIGIN
            + Span::from(stagger::StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap())
    };
    let sample = move || Sample { is_hostile: false, now: now() };
    let mut router =
        axum::Router::new().route("/ui/assets/{name}", get(crate::ui::asset::serve)).route(
            "/ui/attempt-rates",
            get(async move || {
                axum::Json(crate::ui::pages::RateColumns::from(sample().attempt_rates()))
            }),
        );
    for (at, (path, _)) in sample().pages().into_iter().enumerate() {
        let page = async move || axum::response::Html(sample().pages().swap_remove(at).1);
        router = router.route(path, get(page));
    }
    let router =
        router.layer(axum::middleware::map_response(crate::ui::router::add_security_headers));
    let address = std::env::var("STAGGER_SAMPLE").unwrap_or("127.0.0.1:8099".into());
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    axum::serve(listener, router).await.unwrap();
}
