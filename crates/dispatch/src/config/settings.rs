//! The table of settings, each with its key, its bound, and how a text sets it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use stagger::{ConfigError, Ratio, Span};
use stagger_text::hint;

use super::encryption::KeyLines;
use super::values::{AdminKey, Config, StoreKind, is_long_enough};
use super::{oidc, portal};
use crate::observe::LogFormat;

/// Most attempts in flight: each holds a socket, and systems allow some hundred thousand.
const MAX_SLOTS: u32 = 100_000;

/// Fewest and most connections of clients: below it health checks and the page would compete with the API.
const MIN_CONNECTIONS: u32 = 16;
const MAX_CONNECTIONS: u32 = 100_000;

/// Most open deliveries: a hundred bytes each are 10 GB.
const MAX_OPEN: usize = 100_000_000;

/// Largest sizes of a request: larger contents belong in a file store, with a link in the message.
const MAX_SIZE: usize = 64 << 20;

/// Most processes that share a budget, and the largest budget, in percent of first attempts.
const MAX_PROCESSES: u32 = 100_000;
const MAX_BUDGET: u32 = 1_000;

/// Shortest and longest lease: below it a busy database makes nodes seem dead; above it deliveries wait for too long.
const MIN_LEASE: Span = Span::from_secs(1);
const MAX_LEASE: Span = Span::from_secs(300);

/// Shortest retention: below it no failure could be inspected.
const MIN_RETENTION: Span = Span::from_secs(60);

/// A build without the exporter refuses its setting, wherever it is set.
const OTLP_BOUND: &str = if cfg!(feature = "otel") {
    "an http or https address"
} else {
    "left out, because this build sends no traces; build stagger with --features otel"
};

struct Setting {
    key: &'static str,
    bound: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

const SETTINGS: [Setting; 45] = [
    Setting {
        key: "listen",
        bound: "an address with a port, such as 127.0.0.1:8080",
        set: |config, text| text.parse().ok().map(|it| config.listen = it),
    },
    Setting {
        key: "public_url",
        bound: "the http or https address under which clients reach it, without a path",
        set: |config, text| origin(text).map(|it| config.public_url = Some(it)),
    },
    Setting {
        key: "data",
        bound: "the path of a folder",
        set: |config, text| path(text).map(|it| config.data = it),
    },
    Setting {
        key: "store",
        bound: "embedded, memory or postgres://user:password@host/database, where sslmode may be \
                disable, require or verify-full",
        set: |config, text| store(text).map(|it| config.store = it),
    },
    Setting {
        key: "migrate",
        bound: "true or false",
        set: |config, text| text.parse().ok().map(|it| config.migrate = it),
    },
    Setting {
        key: "admin_key",
        bound: "at least 16 visible ASCII characters",
        set: |config, text| key(text).map(|it| config.admin_key = Some(AdminKey::given(it))),
    },
    Setting {
        key: "encryption_key_file",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.encryption.key_file = Some(it)),
    },
    Setting {
        key: "encryption_key_command",
        bound: "a command of the shell that prints keys",
        set: |config, text| {
            (!text.is_empty()).then(|| config.encryption.key_command = Some(text.to_owned()))
        },
    },
    Setting {
        key: "encryption_key",
        bound: "the base64 or the hexadecimal digits of 32 random bytes; several with commas between them",
        set: |config, text| KeyLines::given(text).map(|it| config.encryption.keys = Some(it)),
    },
    Setting {
        key: "operators_file",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.operators_file = Some(it)),
    },
    Setting {
        key: "oidc_issuer",
        bound: oidc::BOUND,
        set: |config, text| oidc::issuer(text).map(|it| config.oidc.issuer = Some(it)),
    },
    Setting {
        key: "oidc_client_id",
        bound: "visible ASCII characters",
        set: |config, text| oidc::word(text).map(|it| config.oidc.client_id = it),
    },
    Setting {
        key: "oidc_client_secret_file",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.oidc.client_secret_file = Some(it)),
    },
    Setting {
        key: "oidc_scopes",
        bound: "words with blanks between them, such as profile email groups",
        set: |config, text| oidc::words(text).map(|it| config.oidc.scopes = it),
    },
    Setting {
        key: "oidc_role_claim",
        bound: "the name of a claim, such as groups",
        set: |config, text| oidc::word(text).map(|it| config.oidc.role_claim = it),
    },
    Setting {
        key: "oidc_roles",
        bound: "groups with their roles, such as on-call=operator, staff=viewer",
        set: |config, text| text.parse().ok().map(|it| config.oidc.roles = it),
    },
    Setting {
        key: "portal_title",
        bound: "1 to 60 characters",
        set: |config, text| portal::title(text).map(|it| config.portal.title = it),
    },
    Setting {
        key: "portal_logo_url",
        bound: "an https address of a picture, without a password",
        set: |config, text| portal::logo(text).map(|it| config.portal.logo_url = Some(it)),
    },
    Setting {
        key: "portal_accent",
        bound: "a colour such as #0a66c2",
        set: |config, text| text.parse().ok().map(|it| config.portal.accent = Some(it)),
    },
    Setting {
        key: "portal_frame_ancestors",
        bound: "at most 20 https origins with commas between them, such as https://app.example; http on \
                this machine only",
        set: |config, text| {
            portal::frame_ancestors(text).map(|it| config.portal.frame_ancestors = it)
        },
    },
    Setting {
        key: "allow_private",
        bound: "true or false",
        set: |config, text| text.parse().ok().map(|it| config.allow_private = it),
    },
    Setting {
        key: "ports",
        bound: "ports from 1 to 65535 with commas between them",
        set: |config, text| ports(text).map(|it| config.ports = it),
    },
    Setting {
        key: "name_servers",
        bound: "addresses with ports and commas between them, such as 10.0.0.2:53",
        set: |config, text| name_servers(text).map(|it| config.name_servers = it),
    },
    Setting {
        key: "roots",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.roots = Some(it)),
    },
    Setting {
        key: "egress_proxy",
        bound: "http://, https://, socks5:// or socks5h:// with a host and a port, and a name and a password where it \
                wants them",
        set: |config, text| text.parse().ok().map(|it| config.egress_proxy = Some(it)),
    },
    Setting {
        key: "egress_proxy_auth_file",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.egress_proxy_auth_file = Some(it)),
    },
    Setting {
        key: "tenant_destinations",
        bound: "true or false",
        set: |config, text| text.parse().ok().map(|it| config.node.tenant_destinations = it),
    },
    Setting {
        key: "slots",
        bound: "from 1 to 100000",
        set: |config, text| up_to(text, MAX_SLOTS).map(|it| config.node.slots = it),
    },
    Setting {
        key: "max_open",
        bound: "from 1 to 100000000",
        set: |config, text| count(text, MAX_OPEN).map(|it| config.node.max_open = it),
    },
    Setting {
        key: "app_max_open",
        bound: "from 1 to 100000000",
        set: |config, text| count(text, MAX_OPEN).map(|it| config.node.app_max_open = Some(it)),
    },
    Setting {
        key: "payload_memory",
        bound: "a size such as 64MiB",
        set: |config, text| size(text).map(|it| config.node.payload_memory = it),
    },
    Setting {
        key: "retention",
        bound: "a span of at least 60s, such as 30d",
        set: |config, text| retention(text).map(|it| config.node.retention = it),
    },
    Setting {
        key: "operational_events",
        bound: "the id of an application, such as app_...",
        set: |config, text| text.parse().ok().map(|it| config.node.operational_events = Some(it)),
    },
    Setting {
        key: "lease",
        bound: "a span from 1s to 300s, such as 10s",
        set: |config, text| lease(text).map(|it| config.node.lease = it),
    },
    Setting {
        key: "redis",
        bound: "redis://host, rediss://user:password@host:port/database with TLS, or unix:///path",
        set: |config, text| text.parse().ok().map(|it| config.redis = Some(it)),
    },
    Setting {
        key: "redis_budget",
        bound: "from 0% to 1000%",
        set: |config, text| percent(text).map(|it| config.redis_budget = it),
    },
    Setting {
        key: "redis_processes",
        bound: "from 1 to 100000",
        set: |config, text| up_to(text, MAX_PROCESSES).map(|it| config.redis_processes = it),
    },
    Setting {
        key: "grace",
        bound: "a span such as 30s",
        set: |config, text| text.parse().ok().map(|it| config.grace = it),
    },
    Setting {
        key: "connections",
        bound: "from 16 to 100000",
        set: |config, text| connections(text).map(|it| config.connections = it),
    },
    Setting {
        key: "rate",
        bound: "requests a second from 1 to 4294967295",
        set: |config, text| up_to(text, u32::MAX).map(|it| config.rate = Some(it)),
    },
    Setting {
        key: "max_body",
        bound: "a size of at most 64MiB, such as 1MiB",
        set: |config, text| sized(text).map(|it| config.max_body = it),
    },
    Setting {
        key: "max_payload",
        bound: "a size of at most 64MiB, such as 256KiB",
        set: |config, text| sized(text).map(|it| config.max_payload = it),
    },
    Setting {
        key: "event_validation",
        bound: "off, known or schema",
        set: |config, text| text.parse().ok().map(|it| config.node.event_validation = it),
    },
    Setting {
        key: "log",
        bound: "text or json",
        set: |config, text| log(text).map(|it| config.log = it),
    },
    Setting {
        key: "otlp",
        bound: OTLP_BOUND,
        set: |config, text| {
            let url = address(text).filter(|_| cfg!(feature = "otel"));
            url.map(|it| config.otlp = Some(it))
        },
    },
];

/// The keys that there are.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.key)
}

/// Sets one setting.
///
/// # Errors
/// No such key; a value out of its bound.
pub(super) fn set(config: &mut Config, key: &str, text: &str) -> Result<(), ConfigError> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
        let known: Vec<_> = keys().collect();
        return Err(ConfigError::new("key", key, format!("a setting: {}", hint(key, &known))));
    };
    (setting.set)(config, text)
        .ok_or_else(|| ConfigError::new(setting.key, shown(setting.key, text), setting.bound))
}

/// The value for an error message: a refused key or password is hidden, because errors are logged.
fn shown<'t>(key: &str, text: &'t str) -> &'t str {
    let is_address = matches!(key, "store" | "redis" | "egress_proxy") && text.contains(':');
    let secret = matches!(key, "admin_key" | "encryption_key") || is_address;
    if secret { ".." } else { text }
}

fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}

fn store(text: &str) -> Option<StoreKind> {
    match text {
        "embedded" => Some(StoreKind::Embedded),
        "memory" => Some(StoreKind::Memory),
        address => address.parse().ok().map(|it| StoreKind::Postgres(Box::new(it))),
    }
}

fn log(text: &str) -> Option<LogFormat> {
    match text {
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

fn key(text: &str) -> Option<String> {
    is_long_enough(text).then(|| text.to_owned())
}

fn ports(text: &str) -> Option<Vec<u16>> {
    let port = |word: &str| word.trim().parse().ok().filter(|port| *port != 0);
    text.split(',').map(port).collect()
}

fn name_servers(text: &str) -> Option<Vec<SocketAddr>> {
    text.split(',').map(|word| word.trim().parse().ok()).collect()
}

fn up_to(text: &str, most: u32) -> Option<NonZeroU32> {
    text.parse().ok().filter(|n: &NonZeroU32| n.get() <= most)
}

fn connections(text: &str) -> Option<NonZeroU32> {
    up_to(text, MAX_CONNECTIONS).filter(|n| n.get() >= MIN_CONNECTIONS)
}

fn count(text: &str, most: usize) -> Option<usize> {
    text.parse().ok().filter(|n| (1..=most).contains(n))
}

fn size(text: &str) -> Option<usize> {
    usize::try_from(stagger_text::parse_size(text)?).ok()
}

fn sized(text: &str) -> Option<usize> {
    size(text).filter(|size| (1..=MAX_SIZE).contains(size))
}

fn retention(text: &str) -> Option<Span> {
    text.parse().ok().filter(|span| *span >= MIN_RETENTION)
}

fn percent(text: &str) -> Option<Ratio> {
    let percent = text.strip_suffix('%')?.parse().ok().filter(|it| *it <= MAX_BUDGET)?;
    Some(Ratio::from_percent(percent))
}

fn lease(text: &str) -> Option<Span> {
    text.parse().ok().filter(|span| (MIN_LEASE..=MAX_LEASE).contains(span))
}

/// The origin of an address, if it is one and nothing more.
fn origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let named = url.username().is_empty() && url.password().is_none() && url.has_host();
    (plain && named).then(|| url.origin().ascii_serialization())
}

fn address(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| text.to_owned())
}

#[cfg(test)]
mod egress_proxy_tests {
    use super::*;

    #[test]
    fn the_password_of_a_proxy_was_in_an_error() {
        let mut config = Config::default();
        config
            .apply_text("d.toml", "egress_proxy = 'http://me:hunter2@proxy:3128'")
            .expect("valid");
        assert_eq!(
            config.egress_proxy.as_ref().map(ToString::to_string).as_deref(),
            Some("http://proxy:3128")
        );
        assert!(!format!("{config:?}").contains("hunter2"));
        let wrong =
            config.apply_pairs("--", [("egress_proxy", "ftp://me:hunter2@proxy")]).unwrap_err();
        let wrong = wrong.to_string();
        assert!(wrong.contains("socks5://") && !wrong.contains("hunter2"), "{wrong}");
    }
}

#[cfg(test)]
mod public_url_tests {
    use super::*;

    #[test]
    fn a_public_address_is_an_origin() {
        for (text, origin) in [
            ("https://hooks.example", Some("https://hooks.example")),
            ("HTTP://Hooks.example:8080/", Some("http://hooks.example:8080")),
            ("https://hooks.example/path", None),
            ("https://me@hooks.example", None),
            ("ftp://hooks.example", None),
            ("hooks.example", None),
        ] {
            let mut config = Config::default();
            let is_set = set(&mut config, "public_url", text).is_ok();
            assert_eq!(config.public_url.as_deref(), origin, "{text}");
            assert_eq!(is_set, origin.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::StoreKind;
    use super::*;

    #[test]
    fn a_size_has_digits_and_at_most_one_unit() {
        assert_eq!(size("64MiB"), Some(64 << 20));
        assert_eq!(size("1000"), Some(1000));
        for wrong in ["", "MiB", "-1", "+1", "1.5MiB", "1MB", "1 MiB", "99999999999GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    fn refused(text: &str) -> String {
        Config::default().apply_text("d.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_the_nearest_one() {
        let message = refused("listen = '127.0.0.1:1'\nretenton = '7d'");
        assert_eq!(message, "d.toml:2:1: unknown key retenton: did you mean retention?");
    }

    #[test]
    fn a_value_out_of_its_bounds_is_named_with_field_value_and_bound() {
        assert_eq!(refused("slots = 0"), "d.toml:1:9: slots = 0: must be from 1 to 100000");
        let message = refused("\nretention = 7");
        assert!(message.starts_with("d.toml:2:13: retention = 7: must be a span"), "{message}");
    }

    #[test]
    fn a_file_that_is_wrong_in_its_last_line_changes_nothing() {
        let mut config = Config::default();
        config.apply_text("d.toml", "listen = '127.0.0.1:1'\nslots = -3").unwrap_err();
        assert_eq!(config.listen.port(), 8080);
    }

    #[test]
    fn flags_win_over_the_file_and_are_named_as_flags() {
        let mut config = Config::default();
        config.apply_text("d.toml", "max_payload = '1MiB'\nports = [443, 8443]").expect("valid");
        config.apply_pairs("--", [("max_payload", "2KiB")]).expect("valid");
        assert_eq!((config.max_payload, &config.ports[..]), (2048, &[443, 8443][..]));
        let fault = config.apply_pairs("--", [("max_payload", "2KB")]).unwrap_err();
        assert!(
            fault.to_string().starts_with("--max-payload: max_payload = 2KB: must be"),
            "{fault}"
        );
    }

    #[test]
    fn a_store_is_a_word_or_an_address_with_a_hidden_password() {
        let mut config = Config::default();
        config.apply_text("d.toml", "store = 'postgres://me:hunter2@db/shop'").expect("valid");
        assert!(matches!(config.store, StoreKind::Postgres(_)));
        assert!(!format!("{config:?}").contains("hunter2"));
        let message = refused("store = 'postgres://me:hunter2@db/shop?sslmode=prefer'");
        assert!(message.contains("sslmode") && !message.contains("hunter2"), "{message}");
        let message = refused("store = 'mysql://me:hunter2@db/shop'");
        assert!(message.contains("postgres://") && !message.contains("hunter2"), "{message}");
    }

    #[test]
    fn every_key_has_a_default_that_could_be_written_down() {
        for key in keys() {
            assert!(set(&mut Config::default(), key, "").is_err(), "{key}");
        }
    }
}
