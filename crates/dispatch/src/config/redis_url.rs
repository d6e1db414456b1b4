//! The address of Redis, which may contain a password.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// The schemes that the library takes.
const SCHEMES: [&str; 6] = ["redis", "rediss", "unix", "redis+unix", "valkey", "valkeys"];

/// The URL of a Redis or Valkey. Shown without the parts that may be secret.
///
/// ```
/// use stagger_dispatch::config::RedisUrl;
/// let url: RedisUrl = "rediss://me:hunter2@10.0.0.7:6380/1".parse().expect("a known scheme");
/// assert_eq!(format!("{url:?}"), "RedisUrl(rediss://..)");
/// assert!("http://10.0.0.7".parse::<RedisUrl>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(String);

/// A text that is no such URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRedisUrl;

impl RedisUrl {
    /// All of it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn scheme(text: &str) -> Option<&'static str> {
        let url = Url::parse(text).ok()?;
        SCHEMES.into_iter().find(|scheme| *scheme == url.scheme())
    }
}

impl FromStr for RedisUrl {
    type Err = NoRedisUrl;

    /// The rest is looked at when it is dialled.
    fn from_str(text: &str) -> Result<Self, NoRedisUrl> {
        Self::scheme(text).map(|_| Self(text.to_owned())).ok_or(NoRedisUrl)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({}://..)", Self::scheme(&self.0).unwrap_or_default())
    }
}

impl fmt::Display for NoRedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no address of a Redis or Valkey")
    }
}

impl std::error::Error for NoRedisUrl {}
