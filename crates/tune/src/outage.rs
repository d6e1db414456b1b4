//! Outages as a distribution: a kind of trouble, and the lengths that it may have.

use std::fmt;
use std::str::FromStr;

use stagger_core::{ConfigError, Instant, Ratio, Span};
use stagger_sim::{Fault, Trouble};

use crate::dice::Dice;

/// Longest outage that ends: longer ones are no different for calls that end within their deadline.
const MAX_LENGTH: Span = Span::from_secs(600);
/// The forms of an outage.
const FORM: &str = "KIND=TIME, KIND=TIME..TIME or KIND=forever, with the kind down, closed, stall, \
                    failing:SHARE or slow:FACTOR";

/// A kind of trouble whose length is drawn between two bounds, so that its logarithm is uniform.
///
/// ```
/// use stagger_tune::OutageRange;
/// let outage: OutageRange = "failing:30%=5s..60s".parse()?;
/// assert_eq!(outage.to_string(), "failing:30%=5s..60s");
/// let error = "slow:0.5=5s".parse::<OutageRange>().unwrap_err();
/// assert_eq!(error.to_string(), "outage = slow:0.5=5s: must be slow:FACTOR with a FACTOR from 1 to 1000");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageRange {
    trouble: Trouble,
    /// The shortest and the longest; `None` for an outage that never ends.
    length: Option<(Span, Span)>,
}

impl OutageRange {
    /// An outage of a length between two bounds.
    ///
    /// # Errors
    /// `outage` with a bound of zero, above 10 min, or in the wrong order.
    pub fn new(trouble: Trouble, least: Span, most: Span) -> Result<Self, ConfigError> {
        if least.is_zero() || least > most || most > MAX_LENGTH {
            let given = format!("{least}..{most}");
            let bound = "lengths above 0s and up to 10m, the shorter one first";
            return Err(ConfigError::new("outage", given, bound));
        }
        Ok(Self { trouble, length: Some((least, most)) })
    }

    /// An outage that never ends.
    #[must_use]
    pub const fn forever(trouble: Trouble) -> Self {
        Self { trouble, length: None }
    }

    /// The longest length; `None` for an outage that never ends.
    #[must_use]
    pub const fn longest(&self) -> Option<Span> {
        match self.length {
            Some((_, most)) => Some(most),
            None => None,
        }
    }

    /// An outage from `from` on, and its length.
    pub(crate) fn draw(&self, from: Instant, dice: &mut Dice) -> (Fault, Option<Span>) {
        let length = self.length.map(|(least, most)| dice.span(least, most));
        let until = length.map_or(Instant::FAR, |length| from + length);
        (Fault::new(self.trouble, from, until), length)
    }
}

impl FromStr for OutageRange {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let wrong = |bound: &str| ConfigError::new("outage", text, bound);
        let (kind, length) = text.split_once('=').ok_or_else(|| wrong(FORM))?;
        let (kind, amount) = match kind.split_once(':') {
            Some((kind, amount)) => (kind, Some(amount)),
            None => (kind, None),
        };
        let trouble = match (kind, amount) {
            ("down", None) => Trouble::Refuse,
            ("closed", None) => Trouble::PortClosed,
            ("stall", None) => Trouble::Stall,
            ("failing", Some(share)) => {
                let share = number(share, 1.0).filter(|share| *share > 0.0);
                Trouble::Failing(share.and_then(ratio).ok_or_else(|| {
                    wrong("failing:SHARE with a SHARE above 0% and up to 100%, as failing:30%=10s")
                })?)
            }
            ("slow", Some(factor)) => {
                let factor = number(factor, 1_000.0).filter(|factor| *factor >= 1.0);
                let ratio = factor.and_then(ratio);
                Trouble::Slow(
                    ratio.ok_or_else(|| wrong("slow:FACTOR with a FACTOR from 1 to 1000"))?,
                )
            }
            _ => return Err(wrong(FORM)),
        };
        if length == "forever" {
            return Ok(Self::forever(trouble));
        }
        let span = |text: &str| text.parse::<Span>().map_err(|error| wrong(&format!("{error}")));
        let (least, most) = match length.split_once("..") {
            Some((least, most)) => (span(least)?, span(most)?),
            None => (span(length)?, span(length)?),
        };
        let bound =
            "of a length above 0s and up to 10m, of two with the shorter one first, or forever";
        Self::new(trouble, least, most).map_err(|_| wrong(bound))
    }
}

impl fmt::Display for OutageRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.trouble {
            Trouble::Failing(share) => write!(f, "failing:{share}")?,
            Trouble::Slow(times) => write!(f, "slow:{}", times.as_f64())?,
            Trouble::PortClosed => f.write_str("closed")?,
            Trouble::Stall => f.write_str("stall")?,
            _ => f.write_str("down")?,
        }
        match self.length {
            None => f.write_str("=forever"),
            Some((least, most)) if least == most => write!(f, "={least}"),
            Some((least, most)) => write!(f, "={least}..{most}"),
        }
    }
}

/// A number from 0 to `most`, which may be written in per cent.
fn number(text: &str, most: f64) -> Option<f64> {
    let value: f64 = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=most).contains(&value).then_some(value)
}

fn ratio(value: f64) -> Option<Ratio> {
    Ratio::try_from(value).ok()
}
