//! The meaning of HTTP replies.

use std::task::{Context, Poll};

use ::http::{HeaderMap, Response, StatusCode};
use stagger_core::classify::{HttpReply, HttpRules, read_should_retry};
use stagger_core::hint::{HintReader, WallTime};
use stagger_core::{Outcome, Remedy, Verdict};

use super::ByChain;
use crate::{AttemptEnd, Classifier, StdTime};

/// Classifies HTTP replies by status and headers, with the hints that they carry.
///
/// Errors are left to `J`. 401, 421 and 425 are permanent, unless the caller
/// [carries out](Self::carrying_out) what would heal them.
///
/// ```
/// use http::Response;
/// use stagger::http::HttpReplies;
/// use stagger::{Hint, Classifier, Span, Verdict};
/// let busy = Response::builder().status(429).header("retry-after", "3").body(()).map_err(std::io::Error::other);
/// let outcome = HttpReplies::default().classify(&busy);
/// assert_eq!(outcome.verdict, Verdict::Throttled);
/// assert_eq!(outcome.hint, Some(Hint::AtLeast(Span::from_secs(3))));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it classifies only for the calls that it is given to"]
pub struct HttpReplies<J = ByChain> {
    rules: HttpRules,
    hints: HintReader<'static>,
    wall: fn() -> Option<WallTime>,
    carried_out: Remedies,
    errors: J,
}

impl Default for HttpReplies {
    fn default() -> Self {
        Self::new(HttpRules::default())
    }
}

impl HttpReplies {
    /// Classifies statuses by `rules`: 409, `x-should-retry` and single statuses are theirs to decide.
    pub const fn new(rules: HttpRules) -> Self {
        let (hints, wall) = (HintReader::new(), std_wall as fn() -> Option<WallTime>);
        Self { rules, hints, wall, carried_out: Remedies(0), errors: ByChain }
    }
}

impl<J> HttpReplies<J> {
    /// Reads hints by `reader`, which knows the provider's own headers.
    pub const fn with_hints(mut self, reader: HintReader<'static>) -> Self {
        self.hints = reader;
        self
    }

    /// Reads dates by `wall` where a reply has no `Date` of its own; `None` leaves such a date unread.
    /// Default: the standard library's clock, where it has one.
    ///
    /// ```
    /// use http::Response;
    /// use stagger::http::HttpReplies;
    /// use stagger::{Hint, Classifier, Span, hint::WallTime};
    /// let date = "Wed, 21 Oct 2015 07:28:03 GMT";
    /// let mut replies = HttpReplies::default().with_wall(|| Some(WallTime::from_unix_secs(1_445_412_480)));
    /// let busy = Response::builder().status(503).header("retry-after", date).body(());
    /// let outcome = replies.classify(&busy.map_err(std::io::Error::other));
    /// assert_eq!(outcome.hint, Some(Hint::AtLeast(Span::from_secs(3))));
    /// ```
    pub const fn with_wall(mut self, wall: fn() -> Option<WallTime>) -> Self {
        self.wall = wall;
        self
    }

    /// Asks for `remedy` where it would heal the failure: for a caller that makes the attempts and does what
    /// [`AttemptInfo::remedy`](crate::AttemptInfo::remedy) tells.
    pub const fn carrying_out(mut self, remedy: Remedy) -> Self {
        self.carried_out.0 |= remedy as u8;
        self
    }

    /// Classifies by `errors` the results that are no reply.
    pub fn with_errors<K>(self, errors: K) -> HttpReplies<K> {
        let Self { rules, hints, wall, carried_out, errors: _ } = self;
        HttpReplies { rules, hints, wall, carried_out, errors }
    }

    /// Classifies a reply of this status with these headers.
    #[must_use]
    pub fn reply(&self, status: StatusCode, headers: &HeaderMap) -> Outcome {
        let mut reply = HttpReply::new(status.as_u16());
        reply.can_refresh = self.carried_out.contains(Remedy::RefreshAuth);
        reply.should_retry =
            headers.get("x-should-retry").and_then(|value| read_should_retry(value.as_bytes()));
        let outcome = self.rules.classify(&reply);
        if outcome.verdict == Verdict::Ok {
            return outcome;
        }
        let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let lines: Vec<_> = lines.collect();
        reply.hint = self.hints.read(lines.iter().copied(), (self.wall)());
        let mut outcome = self.rules.classify(&reply);
        outcome.remedy = outcome.remedy.filter(|remedy| self.carried_out.contains(*remedy));
        outcome
    }
}

impl<B, E, J: Classifier<Response<B>, E>> Classifier<Response<B>, E> for HttpReplies<J> {
    fn classify(&mut self, result: &Result<Response<B>, E>) -> Outcome {
        match result {
            Ok(response) => self.reply(response.status(), response.headers()),
            Err(_) => self.errors.classify(result),
        }
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, Response<B>, E>) {
        self.errors.on_attempt(attempt);
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.errors.poll_waiting(context)
    }
}

fn std_wall() -> Option<WallTime> {
    StdTime::try_wall().map(Into::into)
}

/// A set of remedies, one bit for each.
#[derive(Clone, Copy, Debug)]
struct Remedies(u8);

impl Remedies {
    const fn contains(self, remedy: Remedy) -> bool {
        self.0 & remedy as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_that_nobody_carries_out_is_not_asked_for() {
        let cases = [
            (401, Remedy::RefreshAuth),
            (421, Remedy::FreshConnection),
            (425, Remedy::WithoutEarlyData),
        ];
        for (status, own) in cases {
            let status = StatusCode::from_u16(status).expect("a status in range");
            let outcome = HttpReplies::default().reply(status, &HeaderMap::new());
            assert_eq!((outcome.verdict, outcome.remedy), (Verdict::Permanent, None), "{status}");
            for (_, asked) in cases {
                let replies = HttpReplies::default().carrying_out(asked);
                let remedy = replies.reply(status, &HeaderMap::new()).remedy;
                assert_eq!(remedy, (own == asked).then_some(own), "{status}, {asked:?}");
            }
        }
    }
}
