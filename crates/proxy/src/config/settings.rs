//! The whole file: the listeners, the limits and the routes of a proxy.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use stagger_text::settings::{Document, Flaw, Reader, Value};
use toml::de::DeValue;

use super::fault::SettingsFault;
use super::fleet::FleetSettings;
use super::limits::ProxyLimits;
use super::otlp::{OTLP_URL, otlp_url};
use super::policy;
use super::route::{RouteContext, RouteSettings, RouteTarget, address};
use super::upstream::unread;

/// The most routes of one proxy: each may keep ledgers and connections.
const MAX_ROUTES: usize = 1000;

/// The port of routes that name none.
const DEFAULT_PORT: u16 = 7878;

/// The most threads that serve connections: more than the processors of any machine would only take turns.
const MAX_THREADS: u32 = 1024;

/// The settings of a proxy, read from `routes.toml` and checked.
///
/// ```
/// use stagger_proxy::config::ProxySettings;
/// let settings = ProxySettings::parse("routes.toml", r#"
///     [route.payments]
///     path = "/payments/"
///     upstream = "https://payments.example"
///     policy = { limits = { max_attempts = 2 } }
/// "#)?;
/// assert_eq!(settings.routes[0].policy.limits().max_attempts(), Some(2));
/// assert_eq!(settings.routes[0].listen.to_string(), "127.0.0.1:7878");
/// # Ok::<(), stagger_proxy::config::SettingsFault>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProxySettings {
    /// The address of the metrics, the page and the health checks, if there is one.
    pub admin: Option<SocketAddr>,
    /// The collector of traces and metrics (OTLP over HTTP), for the program to send them to; none by default.
    pub otlp: Option<String>,
    /// The threads of [`Proxy::bind_on_threads`](crate::Proxy::bind_on_threads), from 1 to 1024. Default: half of the
    /// processors, because the programs that call through a proxy need the others.
    pub threads: NonZeroUsize,
    /// Limits on clients.
    pub limits: ProxyLimits,
    /// The budgets that it shares with other proxies.
    pub fleet: FleetSettings,
    /// The routes, in the order of their names.
    pub routes: Vec<RouteSettings>,
}

impl ProxySettings {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// A file that cannot be read, or the first mistake in it.
    pub fn read(file: &Path) -> Result<Self, SettingsFault> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file);
        let text = text.map_err(|error| SettingsFault::new(format!("{name}: {error}")))?;
        let folder = file.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        Self::parse_in(&name, &text, &folder)
    }

    /// Reads a text, which messages call `file`. Paths in it are relative to the working directory.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn parse(file: &str, text: &str) -> Result<Self, SettingsFault> {
        Self::parse_in(file, text, Path::new(""))
    }

    fn parse_in(file: &str, text: &str, folder: &Path) -> Result<Self, SettingsFault> {
        let read = Document::parse(text).and_then(|document| of(&document.reader(), folder));
        read.map_err(|flaw| SettingsFault::of(&flaw, file, text))
    }

    /// The addresses that the routes listen on, each once.
    #[must_use]
    pub fn listeners(&self) -> BTreeSet<SocketAddr> {
        self.routes.iter().map(|route| route.listen).collect()
    }
}

fn of(root: &Reader<'_, '_>, folder: &Path) -> Result<ProxySettings, Flaw> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT));
    let (mut listen, mut admin, mut otlp) = (usual, None, None);
    let (mut limits, mut threads) = (ProxyLimits::default(), None);
    if let Some(proxy) = root.table("proxy")? {
        listen = address(&proxy, "listen")?.unwrap_or(usual);
        admin = address(&proxy, "admin")?;
        let value = proxy.value("otlp").zip(proxy.text("otlp")?);
        let wrong = |value| unread("proxy.otlp", value, OTLP_URL);
        let url = |(value, text)| otlp_url(text).ok_or_else(|| wrong(value));
        otlp = value.map(url).transpose()?;
        let count = proxy.count("threads", (1, MAX_THREADS))?;
        threads = count.and_then(|count| NonZeroUsize::new(usize::try_from(count).ok()?));
        limits = ProxyLimits::read(&proxy)?;
        proxy.done()?;
    }
    let fleet = root.table("fleet")?.map(|table| FleetSettings::read(&table, folder));
    let fleet = fleet.transpose()?.unwrap_or_default();
    let policies = policy::named(root)?;
    let context = RouteContext { listen, policies: &policies, folder };
    let table = root.table("route")?;
    let table = root.need("route", table)?;
    let routes = table.names().map(|(name, value)| route(&table, (name, value), &context));
    let routes: Vec<RouteSettings> = routes.collect::<Result<_, _>>()?;
    root.done()?;
    if routes.is_empty() || routes.len() > MAX_ROUTES {
        return Err(table.flaw(&format!("there must be from 1 to {MAX_ROUTES} routes")));
    }
    overlaps(&table, &routes)?;
    if let Some(route) =
        routes.iter().find(|route| Some(route.listen) == admin && route.listen.port() > 0)
    {
        let why = format!("route {} listens on the address of proxy.admin", route.name);
        return Err(table.flaw(&why));
    }
    let threads = threads.unwrap_or_else(half_of_the_processors);
    Ok(ProxySettings { admin, otlp, threads, limits, fleet, routes })
}

fn half_of_the_processors() -> NonZeroUsize {
    let processors = available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(processors / 2).unwrap_or(NonZeroUsize::MIN)
}

fn route(
    table: &Reader<'_, '_>,
    (name, value): (&str, &Value<'_>),
    context: &RouteContext<'_>,
) -> Result<RouteSettings, Flaw> {
    let key = table.name(name);
    match value.get_ref() {
        DeValue::Table(inner) => {
            RouteSettings::read(name, &Reader::new(key, value.span(), inner), context)
        }
        _ => Err(Flaw::new(value.span(), format!("{key}: must be a table"))),
    }
}

/// Refuses two routes that take the same requests: which of them is meant cannot be known.
fn overlaps(table: &Reader<'_, '_>, routes: &[RouteSettings]) -> Result<(), Flaw> {
    let mut taken = BTreeSet::new();
    for route in routes {
        let tunnels = matches!(route.target, RouteTarget::Tunnels(_));
        let hosts: Vec<String> = match route.hosts.as_slice() {
            [] => vec![String::new()],
            hosts => hosts.iter().map(ToString::to_string).collect(),
        };
        for host in hosts {
            // Tunnels are told apart by where they lead, so several routes of them may stand beside each other.
            if !tunnels && !taken.insert((route.listen, host.clone(), route.path.clone())) {
                let host = if host.is_empty() { "any host" } else { &host };
                let (name, path) = (&route.name, &route.path);
                return Err(table.flaw(&format!(
                    "{name} takes requests that another route takes: {host}, {path} on {}",
                    route.listen
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stagger::{HintScope, Span};

    use super::*;

    fn refused(text: &str) -> String {
        ProxySettings::parse("r.toml", text).expect_err("must be refused").to_string()
    }

    fn routes(text: &str) -> Vec<RouteSettings> {
        ProxySettings::parse("r.toml", text).expect("good settings").routes
    }

    #[test]
    fn an_unknown_key_was_silently_ignored() {
        let text = "[route.a]\nupstream = 'http://a'\nmax_inflight = 3\n";
        assert_eq!(
            refused(text),
            "r.toml:3:1: unknown key route.a.max_inflight: did you mean max_in_flight?"
        );
        let text = "[proxy]\ndrian = '3s'\n[route.a]\nupstream = 'http://a'\n";
        assert_eq!(refused(text), "r.toml:2:1: unknown key proxy.drian: did you mean drain?");
        let text = "[route.a]\nupstream = 'http://a'\npolicy.limits.max_atempts = 3\n";
        assert!(refused(text).contains("did you mean `max_attempts`?"), "{}", refused(text));
    }

    #[test]
    fn a_proxy_had_no_thread_or_more_than_it_was_given() {
        let text =
            |threads| format!("proxy.threads = {threads}\n[route.a]\nupstream = 'http://a'\n");
        let threads = |text: &str| ProxySettings::parse("r.toml", text).map(|it| it.threads.get());
        assert_eq!(threads(&text(3)).ok(), Some(3));
        let bound = "proxy.threads = 0: must be a whole number from 1 to 1024";
        assert!(refused(&text(0)).contains(bound), "{}", refused(&text(0)));
        let processors = available_parallelism().map_or(1, NonZeroUsize::get);
        let usual = threads("[route.a]\nupstream = 'http://a'\n");
        assert!(usual.is_ok_and(|count| count == 1 || 2 * count <= processors));
    }

    #[test]
    fn each_bound_is_named_with_its_value() {
        for (line, message) in [
            (
                "max_in_flight = 0",
                "route.a.max_in_flight = 0: must be a whole number from 1 to 100000",
            ),
            ("connect_timeout = '2h'", "route.a.connect_timeout = 2h: must be at most 3600s"),
            ("retry.replay_limit = '1GiB'", "route.a.retry.replay_limit = 1GiB: must be bytes"),
            ("retry.methods = ['get']", "did you mean GET?"),
            ("retry.grpc_methods = 'Get'", "must be a path such as /shop.Orders/Get"),
            ("http = '3'", "route.a.http = 3: must be one of auto, 1.1, 2"),
            ("path = 'v1'", "route.a.path = v1: must be a path that begins with /"),
            ("policy = 'interactve'", "did you mean interactive?"),
            (
                "headers.host = 'x'",
                "route.a.headers.host: is a header that the proxy writes itself",
            ),
            ("headers.authorization = { prefix = 'x' }", "must have one of file, env and value"),
            ("retry.after_401 = true", "nothing would be fresh"),
            ("tls.public_roots = false", "trusts no roots"),
            ("tls.cert_file = 'x'", "cert_file and key_file must be set together"),
            ("host = 'a:80'", "must be a host without a port"),
        ] {
            let refusal = refused(&format!("[route.a]\nupstream = 'http://a'\n{line}\n"));
            assert!(
                refusal.starts_with("r.toml:") && refusal.contains(message),
                "{line}: {refusal}"
            );
        }
    }

    #[test]
    fn a_policy_comes_from_a_name_a_preset_or_the_route() {
        let text = "
            [policy.quick]
            limits = { max_attempts = 2, deadline = '3s' }
            [route.a]
            path = '/a'
            upstream = 'http://a'
            policy = 'quick'
            [route.b]
            path = '/b'
            upstream = 'http://a'
            policy = 'webhook'
            [route.c]
            path = '/c'
            upstream = 'http://a'
            policy = { hints = { scope = 'call' } }
            [route.d]
            upstream = 'http://a'";
        let routes = routes(text);
        assert_eq!(routes[0].policy.limits().deadline(), Some(Span::from_secs(3)));
        assert_eq!(routes[1].policy.backoff(), stagger::Policy::webhook().backoff());
        let scope = |at: usize| routes[at].policy.hints().scope();
        assert_eq!(scope(0), HintScope::Destination, "callers share hints unless told otherwise");
        assert_eq!((scope(1), scope(2)), (HintScope::Destination, HintScope::Call));
        assert!(routes[3].policy.breaker().is_some() && routes[0].policy.breaker().is_none());
    }

    #[test]
    fn two_routes_took_the_same_requests() {
        let text = "[route.a]\nupstream = 'http://a'\n[route.b]\nupstream = 'http://b'\n";
        assert!(refused(text).contains("b takes requests that another route takes: any host, /"));
        let text = "[route.a]\nconnect = 'a:1'\n[route.b]\nconnect = 'b:1'\n";
        assert_eq!(routes(text).len(), 2);
        let text = "[route.a]\nconnect = 'a:1'\npath = '/x'\n";
        assert!(
            refused(text).contains("route.a.path = /x: must be left out of a route of tunnels")
        );
    }
}
