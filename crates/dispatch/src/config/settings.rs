//! The table of settings: each with its key, its bound, and how a text sets it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use stagger::{ConfigError, Ratio, Span};

use super::admin_key::AdminKey;
use super::values::{Config, StoreKind};
use crate::observe::LogFormat;

/// Most attempts in flight: each holds a socket, and systems allow some hundred thousand.
const MAX_SLOTS: u32 = 100_000;
/// Most open deliveries: a hundred bytes each are 10 GB.
const MAX_OPEN: usize = 100_000_000;
/// Largest sizes of a request: larger contents belong in a file store, with a link in the message.
const MAX_SIZE: usize = 64 << 20;
/// Shortest admin key: below it a key can be guessed.
const MIN_KEY: usize = 16;
/// Most processes that share a budget, and the largest budget, in percent of first attempts.
const MAX_PROCESSES: u32 = 100_000;
const MAX_BUDGET: u32 = 1_000;
/// Shortest and longest lease: below it a busy database makes nodes take one another for dead; above it a
/// dead one's deliveries wait for too long.
const MIN_LEASE: Span = Span::from_secs(1);
const MAX_LEASE: Span = Span::from_secs(300);
/// Shortest retention: below it no failure could be inspected.
const MIN_RETENTION: Span = Span::from_secs(60);

struct Setting {
    key: &'static str,
    bound: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

const SETTINGS: [Setting; 22] = [
    Setting {
        key: "listen",
        bound: "an address with a port, such as 127.0.0.1:8080",
        set: |config, text| text.parse().ok().map(|it| config.listen = it),
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
        key: "roots",
        bound: "the path of a file",
        set: |config, text| path(text).map(|it| config.roots = Some(it)),
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
        key: "log",
        bound: "text or json",
        set: |config, text| log(text).map(|it| config.log = it),
    },
    Setting {
        key: "otlp",
        bound: "an http or https address",
        set: |config, text| address(text).map(|it| config.otlp = Some(it)),
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
        return Err(ConfigError::new("key", key, "one of those that there are"));
    };
    (setting.set)(config, text)
        .ok_or_else(|| ConfigError::new(setting.key, shown(setting.key, text), setting.bound))
}

/// The key that `name` was probably meant to be.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    stagger_text::nearest(name, keys())
}

/// The value for an error message: a refused key or password is hidden, because errors are logged.
fn shown<'t>(key: &str, text: &'t str) -> &'t str {
    let is_address = matches!(key, "store" | "redis") && text.contains(':');
    let secret = key == "admin_key" || is_address;
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
    let visible = text.bytes().all(|b| b.is_ascii_graphic());
    (visible && text.len() >= MIN_KEY).then(|| text.to_owned())
}

fn ports(text: &str) -> Option<Vec<u16>> {
    let port = |word: &str| word.trim().parse().ok().filter(|port| *port != 0);
    text.split(',').map(port).collect()
}

fn up_to(text: &str, most: u32) -> Option<NonZeroU32> {
    text.parse().ok().filter(|n: &NonZeroU32| n.get() <= most)
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

fn address(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_one_letter_finds_the_key_and_a_stranger_none() {
        assert_eq!(nearest("lisen"), Some("listen"));
        assert_eq!(nearest("max_pyaload"), Some("max_payload"));
        assert_eq!(nearest("workers"), None);
    }

    #[test]
    fn a_size_has_digits_and_at_most_one_unit() {
        assert_eq!(size("64MiB"), Some(64 << 20));
        assert_eq!(size("1000"), Some(1000));
        for wrong in ["", "MiB", "-1", "+1", "1.5MiB", "1MB", "1 MiB", "99999999999GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
