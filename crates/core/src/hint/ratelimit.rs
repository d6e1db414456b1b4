//! `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), as structured fields.

use alloc::string::String;
use alloc::vec::Vec;

use super::structured::{BareItem, Item, List};
use crate::Span;

/// The remainder of one quota: an item of `RateLimit`.
///
/// ```
/// use stagger_core::{Span, hint::RateLimit};
/// let limits = RateLimit::parse(b"\"day\";r=0;t=36400").unwrap();
/// assert_eq!(limits[0].name, "day");
/// assert_eq!(limits[0].remaining, 0);
/// assert_eq!(limits[0].reset, Some(Span::from_secs(36_400)));
/// assert_eq!(RateLimit::parse(b"day;r=0;t=36400"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The policy that it belongs to.
    pub name: String,
    /// Quota units that are left (`r`).
    pub remaining: u64,
    /// Seconds from now until the quota is restored (`t`).
    pub reset: Option<Span>,
}

impl RateLimit {
    /// Reads one field line; `None` when it is malformed anywhere, because the draft then wants it ignored.
    ///
    /// A name must be a String: the draft's own examples with a Token (`quota;t=1`) are ignored.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Vec<Self>> {
        named_items(line, |name, item| {
            let reset = seconds(item, "t").ok()?;
            Some(Self { name, remaining: quantity(item, "r").ok()??, reset })
        })
    }
}

/// One quota as it is promised: an item of `RateLimit-Policy`.
///
/// ```
/// use stagger_core::{Span, hint::RateLimitPolicy};
/// let policies = RateLimitPolicy::parse(b"\"burst\";q=100;w=60,\"daily\";q=1000").unwrap();
/// assert_eq!(policies[0].window, Some(Span::from_secs(60)));
/// assert_eq!(policies[1].quota, 1_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitPolicy {
    /// Its name.
    pub name: String,
    /// Quota units in a window (`q`).
    pub quota: u64,
    /// The window (`w`), in seconds.
    pub window: Option<Span>,
}

impl RateLimitPolicy {
    /// Reads one field line; `None` when it is malformed anywhere, because the draft then wants it ignored.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Vec<Self>> {
        named_items(line, |name, item| {
            let window = seconds(item, "w").ok()?;
            Some(Self { name, quota: quantity(item, "q").ok()??, window })
        })
    }
}

/// The hint in a reply's quotas: the longest reset of those that are used up.
///
/// A quota with something left gives no hint. Where a used-up one does not say when it comes back,
/// its policy's window does: the only figure that the server gave, and never too soon.
///
/// ```
/// use stagger_core::{Span, hint::{RateLimit, RateLimitPolicy, rate_limit_hint}};
/// let policies = RateLimitPolicy::parse(b"\"burst\";q=100;w=60").unwrap();
/// let read = |line: &[u8]| rate_limit_hint(&RateLimit::parse(line).unwrap(), &policies);
/// assert_eq!(read(b"\"burst\";r=0;t=7,\"day\";r=3;t=900"), Some(Span::from_secs(7)));
/// assert_eq!(read(b"\"burst\";r=0"), Some(Span::from_secs(60)));
/// assert_eq!(read(b"\"burst\";r=1;t=7"), None);
/// ```
#[must_use]
pub fn rate_limit_hint(limits: &[RateLimit], policies: &[RateLimitPolicy]) -> Option<Span> {
    let window = |name: &str| {
        policies
            .iter()
            .filter(|policy| policy.name == name)
            .filter_map(|policy| policy.window)
            .max()
    };
    let used_up = limits.iter().filter(|limit| limit.remaining == 0);
    used_up.filter_map(|limit| limit.reset.or_else(|| window(&limit.name))).max()
}

/// All items of a list, each of which must be named by a String and make sense to `read`.
fn named_items<T>(line: &[u8], read: impl Fn(String, &Item) -> Option<T>) -> Option<Vec<T>> {
    let list = List::parse(line).ok()?;
    let read_member = |member: &super::structured::Member| {
        let item = member.as_item()?;
        match &item.value {
            BareItem::String(name) => read(name.clone(), item),
            _ => None,
        }
    };
    list.0.iter().map(read_member).collect()
}

/// A parameter of another kind than the draft wants.
struct Malformed;

/// A parameter that must be a non-negative Integer where it is given.
fn quantity(item: &Item, key: &str) -> Result<Option<u64>, Malformed> {
    match item.parameters.get(key) {
        None => Ok(None),
        Some(BareItem::Integer(n)) => u64::try_from(*n).map(Some).map_err(|_| Malformed),
        Some(_) => Err(Malformed),
    }
}

fn seconds(item: &Item, key: &str) -> Result<Option<Span>, Malformed> {
    Ok(quantity(item, key)?.map(Span::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_item_spoils_its_line() {
        for line in [
            &b"\"a\";t=1"[..],
            b"\"a\";r=-1;t=1",
            b"\"a\";r=0;t=1.5",
            b"\"a\";r=0;t=-1",
            b"\"a\";r=0;t=1,b;r=0;t=1",
            b"(\"a\");r=0;t=1",
            b"\"a\";r=\"0\"",
            b"\xff",
        ] {
            assert_eq!(RateLimit::parse(line), None, "{line:?}");
        }
        assert_eq!(RateLimitPolicy::parse(b"\"a\";w=1"), None);
        assert_eq!(RateLimit::parse(b""), Some(Vec::new()));
    }

    #[test]
    fn longest_of_those_used_up_wins() {
        let limits = RateLimit::parse(b"\"a\";r=0;t=5, \"b\";r=0;t=9, \"c\";r=1;t=99").unwrap();
        assert_eq!(rate_limit_hint(&limits, &[]), Some(Span::from_secs(9)));
        let silent = RateLimit::parse(b"\"a\";r=0").unwrap();
        assert_eq!(rate_limit_hint(&silent, &[]), None);
    }
}
