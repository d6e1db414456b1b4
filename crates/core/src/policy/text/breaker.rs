//! `[breaker]`: when it opens, for how long, and how it closes again; some settings are a number or a word.

use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::convert::{count, share, written_as};
use crate::breaker::{BreakerPlan, BreakerPlanBuilder, WindowKind};
use crate::error::ConfigError;
use crate::ratio::Ratio;
use crate::time::Span;

written_as!(
    BreakerPlan,
    BreakerText,
    "the table of a breaker: window, ratio, minimum_calls, open_time and the rest"
);

/// The default of the missing half of a ramp: a tenth at first, all after 10 s.
const RAMP: (Ratio, Span) = (Ratio::from_percent(10), Span::from_secs(10));

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BreakerText {
    window: TripWindow,
    ratio: RatioText,
    minimum_calls: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    consecutive: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_after: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_ratio: Option<f64>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    throttled_fails: bool,
    open_time: Span,
    open_factor: f64,
    open_cap: Span,
    probes: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp_from: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp_time: Option<Span>,
}

impl Default for BreakerText {
    fn default() -> Self {
        BreakerPlan::default().into()
    }
}

impl From<BreakerPlan> for BreakerText {
    fn from(plan: BreakerPlan) -> Self {
        Self {
            window: plan.window().into(),
            ratio: RatioText(plan.ratio().map(Ratio::as_f64)),
            minimum_calls: i64::from(plan.minimum_calls()),
            consecutive: plan.consecutive().map(i64::from),
            slow_after: plan.slow_calls().map(|(after, _)| after),
            slow_ratio: plan.slow_calls().map(|(_, ratio)| ratio.as_f64()),
            throttled_fails: plan.throttled_fails(),
            open_time: plan.open_time(),
            open_factor: plan.open_factor().as_f64(),
            open_cap: plan.open_cap(),
            probes: i64::from(plan.probes()),
            lease: plan.lease(),
            ramp_from: plan.ramp().map(|(from, _)| from.as_f64()),
            ramp_time: plan.ramp().map(|(_, time)| time),
        }
    }
}

impl TryFrom<BreakerText> for BreakerPlan {
    type Error = ConfigError;

    fn try_from(text: BreakerText) -> Result<Self, ConfigError> {
        let ratio = text.ratio.0.map(|ratio| share("breaker.ratio", ratio)).transpose()?;
        let consecutive = text.consecutive.map(|n| count("breaker.consecutive", n)).transpose()?;
        let builder = Self::builder()
            .window(text.window()?)
            .ratio(ratio)
            .minimum_calls(count("breaker.minimum_calls", text.minimum_calls)?)
            .consecutive(consecutive)
            .throttled_fails(text.throttled_fails)
            .open_time(text.open_time)
            .open_factor(share("breaker.open_factor", text.open_factor)?)
            .open_cap(text.open_cap)
            .probes(count("breaker.probes", text.probes)?);
        let builder = match text.lease {
            Some(lease) => builder.lease(lease),
            None => builder,
        };
        text.ramp(text.slow_calls(builder)?)?.build()
    }
}

impl BreakerText {
    fn window(&self) -> Result<WindowKind, ConfigError> {
        Ok(match self.window {
            TripWindow::Time(span) => WindowKind::Time(span),
            TripWindow::Calls(calls) => WindowKind::Calls(count("breaker.window", calls)?),
        })
    }

    /// Both halves of the slow-call rule, or neither: nobody can guess what is slow, or too much.
    fn slow_calls(&self, builder: BreakerPlanBuilder) -> Result<BreakerPlanBuilder, ConfigError> {
        let lone = |field, other: &str| {
            let bound = alloc::format!("set together with breaker.{other}");
            Err(ConfigError::new(field, "nothing", bound))
        };
        match (self.slow_after, self.slow_ratio) {
            (Some(after), Some(ratio)) => {
                Ok(builder.slow_calls(after, share("breaker.slow_ratio", ratio)?))
            }
            (Some(_), None) => lone("breaker.slow_ratio", "slow_after"),
            (None, Some(_)) => lone("breaker.slow_after", "slow_ratio"),
            (None, None) => Ok(builder),
        }
    }

    fn ramp(&self, builder: BreakerPlanBuilder) -> Result<BreakerPlanBuilder, ConfigError> {
        if self.ramp_from.is_none() && self.ramp_time.is_none() {
            return Ok(builder);
        }
        let from = self.ramp_from.map(|from| share("breaker.ramp_from", from)).transpose()?;
        Ok(builder.ramp(from.unwrap_or(RAMP.0), self.ramp_time.unwrap_or(RAMP.1)))
    }
}

/// The word for a rule that is off.
const OFF: &str = "off";

/// `breaker.ratio`: a number, or `"off"`.
#[derive(Clone, Copy)]
pub(super) struct RatioText(pub(super) Option<f64>);

impl Serialize for RatioText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(ratio) => serializer.serialize_f64(ratio),
            None => serializer.serialize_str(OFF),
        }
    }
}

impl<'de> Deserialize<'de> for RatioText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RatioVisitor)
    }
}

struct RatioVisitor;

impl Visitor<'_> for RatioVisitor {
    type Value = RatioText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number, or {OFF:?}")
    }

    fn visit_f64<E: Error>(self, ratio: f64) -> Result<RatioText, E> {
        Ok(RatioText(Some(ratio)))
    }

    // OK because a whole number too large for an exact float is far above every share.
    #[expect(clippy::cast_precision_loss, reason = "refused as a share either way")]
    fn visit_i64<E: Error>(self, ratio: i64) -> Result<RatioText, E> {
        self.visit_f64(ratio as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "refused as a share either way")]
    fn visit_u64<E: Error>(self, ratio: u64) -> Result<RatioText, E> {
        self.visit_f64(ratio as f64)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<RatioText, E> {
        if word == OFF {
            return Ok(RatioText(None));
        }
        Err(E::invalid_value(Unexpected::Str(word), &self))
    }
}

/// `breaker.window`: a span, or a table `{ calls = 100 }`.
#[derive(Clone, Copy)]
pub(super) enum TripWindow {
    Time(Span),
    Calls(i64),
}

impl From<WindowKind> for TripWindow {
    fn from(kind: WindowKind) -> Self {
        match kind {
            WindowKind::Time(span) => Self::Time(span),
            WindowKind::Calls(calls) => Self::Calls(i64::from(calls)),
        }
    }
}

impl Serialize for TripWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Time(span) => span.serialize(serializer),
            Self::Calls(calls) => CallsText { calls }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TripWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TripWindowVisitor)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CallsText {
    calls: i64,
}

struct TripWindowVisitor;

impl<'de> Visitor<'de> for TripWindowVisitor {
    type Value = TripWindow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a span such as \"10s\", or a table such as { calls = 100 }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TripWindow, E> {
        let span = text
            .parse()
            .map_err(|error| E::custom(format_args!("breaker.window = {text}: must be {error}")));
        span.map(TripWindow::Time)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<TripWindow, A::Error> {
        let text = CallsText::deserialize(MapAccessDeserializer::new(table))?;
        Ok(TripWindow::Calls(text.calls))
    }
}
