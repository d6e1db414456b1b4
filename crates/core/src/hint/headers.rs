//! All headers of a reply to one hint: the first usable source wins.

use alloc::vec::Vec;

use super::{
    RateLimit, RateLimitPolicy, ResetHeader, WallTime, decimal, pushback, rate_limit_hint,
    rate_limit_reset, reset, retry_after, retry_after_ms, retry_info, status_details,
};
use crate::{Hint, Span};

const PUSHBACK: &str = "grpc-retry-pushback-ms";
const DETAILS: &str = "grpc-status-details-bin";
const RETRY_AFTER: &str = "retry-after";
const RATE_LIMIT: &str = "ratelimit";
/// Hints in milliseconds: OpenAI and others, Azure, AWS.
const MILLIS: [&str; 3] = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];

/// Reads the hint in a reply's headers, or trailers, whatever its status.
///
/// Sources in their order: `grpc-retry-pushback-ms`; a `google.rpc.RetryInfo` in
/// `grpc-status-details-bin`; `retry-after-ms` and its kin in ms; `Retry-After`; `RateLimit` with `RateLimit-Policy`; `x-ratelimit-reset` and its kin. The first
/// that can be read wins. Within one source the longest of several lines wins, except that two
/// pushbacks forbid the retry. A reply without any of these headers costs no allocation.
///
/// A hint on 2xx or 3xx is no reason to retry; a loop that polls may want it.
///
/// ```
/// use stagger_core::{Hint, Span, hint::HintReader};
/// let headers = [("Content-Type", &b"text/plain"[..]), ("Retry-After", b"3")];
/// let hint = HintReader::new().read(headers, None);
/// assert_eq!(hint, Some(Hint::AtLeast(Span::from_secs(3))));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HintReader<'r> {
    pushback: bool,
    rate_limits: bool,
    resets: &'r [ResetHeader],
}

impl Default for HintReader<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'r> HintReader<'r> {
    /// Reads every source, with the reset headers of [`ResetHeader::COMMON`].
    #[must_use]
    pub const fn new() -> Self {
        Self { pushback: true, rate_limits: true, resets: ResetHeader::COMMON }
    }

    /// Also or only reads these reset headers, in this order; default [`ResetHeader::COMMON`].
    ///
    /// None at all leaves them out: for a server whose numbers nobody can explain.
    #[must_use]
    pub const fn with_resets(mut self, resets: &'r [ResetHeader]) -> Self {
        self.resets = resets;
        self
    }

    /// Does not read gRPC's pushback, which can forbid a retry; default is to read it.
    #[must_use]
    pub const fn without_pushback(mut self) -> Self {
        self.pushback = false;
        self
    }

    /// Does not read `RateLimit`, which is still a draft; default is to read it.
    #[must_use]
    pub const fn without_rate_limits(mut self) -> Self {
        self.rate_limits = false;
        self
    }

    /// The hint in these headers; names in any case, one pair for each field line.
    ///
    /// `now` is the wall clock, for dates; the reply's own `Date` is better and wins where present.
    #[must_use]
    pub fn read<'h, H>(&self, headers: H, now: Option<WallTime>) -> Option<Hint>
    where
        H: IntoIterator<Item = (&'h str, &'h [u8])>,
        H::IntoIter: Clone,
    {
        self.read_with_source(headers, now).map(|(hint, _)| hint)
    }

    /// The same with the name of the header that gave the hint.
    ///
    /// ```
    /// use stagger_core::hint::HintReader;
    /// let headers = [("Retry-After", &b"3"[..]), ("Retry-After-Ms", b"20")];
    /// let (_, source) = HintReader::new().read_with_source(headers, None).expect("two hints");
    /// assert_eq!(source, "retry-after-ms");
    /// ```
    #[must_use]
    pub fn read_with_source<'h, H>(
        &self,
        headers: H,
        now: Option<WallTime>,
    ) -> Option<(Hint, &'static str)>
    where
        H: IntoIterator<Item = (&'h str, &'h [u8])>,
        H::IntoIter: Clone,
    {
        let fields = Fields(headers.into_iter());
        let now = fields.date(now);
        let pushback = self.pushback.then(|| pushback(fields.lines(PUSHBACK))).flatten();
        match pushback {
            Some(hint) => Some((hint, PUSHBACK)),
            None => self.wait(&fields, now).map(|(wait, source)| (Hint::AtLeast(wait), source)),
        }
    }

    fn wait<'h, H>(&self, fields: &Fields<H>, now: Option<WallTime>) -> Option<(Span, &'static str)>
    where
        H: Iterator<Item = (&'h str, &'h [u8])> + Clone,
    {
        let millis = |name| Some((fields.lines(name).filter_map(retry_after_ms).max()?, name));
        let seconds = || fields.lines(RETRY_AFTER).filter_map(|line| retry_after(line, now)).max();
        let limits = || self.rate_limits.then(|| fields.rate_limit()).flatten();
        let reset = |header: &ResetHeader| Some((fields.reset(header, now)?, header.reset));
        fields
            .retry_info()
            .map(|delay| (delay, DETAILS))
            .or_else(|| MILLIS.into_iter().find_map(millis))
            .or_else(|| Some((seconds()?, RETRY_AFTER)))
            .or_else(|| Some((limits()?, RATE_LIMIT)))
            .or_else(|| self.resets.iter().find_map(reset))
    }
}

/// A reply's field lines, walked once for each name: replies have few lines.
struct Fields<H>(H);

impl<'h, H> Fields<H>
where
    H: Iterator<Item = (&'h str, &'h [u8])> + Clone,
{
    fn lines(&self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        self.0.clone().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    #[cfg(feature = "http-date")]
    fn date(&self, now: Option<WallTime>) -> Option<WallTime> {
        let named = |line| super::http_date(decimal::trim(line), now);
        self.lines("date").find_map(named).or(now)
    }

    #[cfg(not(feature = "http-date"))]
    fn date(&self, now: Option<WallTime>) -> Option<WallTime> {
        now
    }

    /// Several binary values may share a line (gRPC over HTTP/2, "Custom-Metadata").
    fn retry_info(&self) -> Option<Span> {
        let values = self.lines(DETAILS).flat_map(|line| line.split(|&byte| byte == b','));
        values.filter_map(|value| retry_info(&status_details(decimal::trim(value))?)).max()
    }

    fn rate_limit(&self) -> Option<Span> {
        let limits = whole(self.lines(RATE_LIMIT).map(RateLimit::parse));
        if limits.is_empty() {
            return None;
        }
        let policies = whole(self.lines("ratelimit-policy").map(RateLimitPolicy::parse));
        rate_limit_hint(&limits, &policies)
    }

    fn reset(&self, header: &ResetHeader, now: Option<WallTime>) -> Option<Span> {
        let read = |line| rate_limit_reset(line, header.meaning, now);
        let wait = self.lines(header.reset).filter_map(read).max()?;
        self.lines(header.remaining).all(reset::is_used_up).then_some(wait)
    }
}

/// The items of all lines; none when any line is malformed, because lines are one field.
fn whole<T>(lines: impl Iterator<Item = Option<Vec<T>>>) -> Vec<T> {
    let lines: Option<Vec<Vec<T>>> = lines.collect();
    lines.unwrap_or_default().into_iter().flatten().collect()
}
