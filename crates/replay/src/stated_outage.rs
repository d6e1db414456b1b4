//! A fault that the user states, because a log shows only what came of it.

use std::str::FromStr;

use stagger_core::{ConfigError, Instant, Ratio, Span};

use crate::cells::{BucketCounts, Cells};
use crate::failing;
use crate::outage::{InferredOutage, OutageKind};
use crate::stamp::Stamp;

/// A fault as `FROM+LASTS` or `FROM+LASTS:KIND`.
///
/// `FROM` is a time of the wall clock, or a span since the start of the log. `KIND` is `refused`, `hung`,
/// `failing=SHARE` or `slow=TIMES`; without it the log says of which kind most failures in it were.
///
/// ```
/// use stagger_replay::StatedOutage;
/// for text in ["2023-11-14T22:13:40Z+5s:hung", "20s+5s", "20s+1m:failing=0.2", "0s+10s:slow=5"] {
///     assert!(text.parse::<StatedOutage>().is_ok(), "{text}");
/// }
/// let error = "20s:hung".parse::<StatedOutage>().unwrap_err();
/// assert!(error.to_string().starts_with("outage = 20s:hung: must be FROM+LASTS"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedOutage {
    from: OutageStart,
    lasts: Span,
    kind: Option<OutageKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutageStart {
    Wall(Span),
    AfterStart(Span),
}

impl FromStr for StatedOutage {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let read = || {
            // The zone of a time may have a plus, too.
            let (from, rest) = text.rsplit_once('+')?;
            let (lasts, kind) = match rest.split_once(':') {
                Some((lasts, kind)) => (lasts, Some(read_kind(kind)?)),
                None => (rest, None),
            };
            let lasts = lasts.parse().ok().filter(|lasts: &Span| !lasts.is_zero())?;
            Some(Self { from: start(from)?, lasts, kind })
        };
        read().ok_or_else(|| {
            let bound = "FROM+LASTS or FROM+LASTS:KIND, with FROM a time or a span since the start of \
                         the log, LASTS a span above 0, and KIND one of refused, hung, failing=SHARE (0 to \
                         1) or slow=TIMES (1 to 1000)";
            ConfigError::new("outage", text, bound)
        })
    }
}

fn start(text: &str) -> Option<OutageStart> {
    let span = text.parse().ok().map(OutageStart::AfterStart);
    span.or_else(|| Stamp::read(text).map(|stamp| OutageStart::Wall(stamp.since_epoch)))
}

fn read_kind(text: &str) -> Option<OutageKind> {
    let number = |text: &str, (least, most): (f64, f64)| {
        let number: f64 = text.parse().ok()?;
        (least..=most).contains(&number).then(|| ratio(number))
    };
    match text.split_once('=') {
        None if text == "refused" => Some(OutageKind::Refused),
        None if text == "hung" => Some(OutageKind::Hung),
        Some(("failing", share)) => number(share, (0.0, 1.0)).map(OutageKind::Failing),
        Some(("slow", times)) => number(times, (1.0, 1_000.0)).map(OutageKind::Slow),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by 1000")]
fn ratio(number: f64) -> Ratio {
    // OK because 1000 times a million fits.
    Ratio::from_ppm((number * f64::from(Ratio::SCALE)).round() as u32)
}

impl StatedOutage {
    /// The fault on the time line of a log that began then, with these counts.
    pub(crate) fn within(&self, began: Stamp, cells: &Cells) -> InferredOutage {
        let from = match self.from {
            OutageStart::AfterStart(after) => Instant::ORIGIN + after,
            OutageStart::Wall(at) => Instant::ORIGIN + (at - began.since_epoch),
        };
        let until = from + self.lasts;
        let sum = BucketCounts::sum(cells.within(from, until));
        InferredOutage {
            from,
            until,
            kind: self.kind.unwrap_or_else(|| failing::kind(&sum)),
            attempts: sum.attempts,
            failed: sum.bad(),
            edge: Span::ZERO,
            open: false,
            stated: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_with_a_plus_is_no_length() {
        let read = |text: &str| text.parse::<StatedOutage>().map(|outage| outage.from).ok();
        let utc = read("2023-11-14T22:13:40Z+5s");
        assert!(utc.is_some());
        assert_eq!(read("2023-11-14T23:13:40+01:00+5s"), utc);
        assert_eq!(read("1700000020+5s:hung"), utc);
    }

    #[test]
    fn what_is_no_outage_is_refused() {
        for text in [
            "",
            "5s",
            "+5s",
            "1s+",
            "1s+0s",
            "1s+5s:",
            "1s+5s:gone",
            "1s+5s:failing",
            "1s+5s:failing=2",
            "1s+5s:slow=0.5",
            "1s+5s:failing=NaN",
            "now+5s",
        ] {
            assert!(text.parse::<StatedOutage>().is_err(), "{text}");
        }
    }
}
