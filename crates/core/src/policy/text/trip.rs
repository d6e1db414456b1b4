//! Two settings of a breaker that are a number or a word, a span or a table.

use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::breaker::WindowKind;
use crate::time::Span;

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
