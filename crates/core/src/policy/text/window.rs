//! `[budget.window]`: a share of the first attempts, over a window, plus a floor.

use serde::{Deserialize, Serialize, Serializer};

use super::convert::{count, rate, share};
use crate::budget::{FloorRate, WindowPlan};
use crate::error::ConfigError;
use crate::time::Span;

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WindowText {
    ratio: f64,
    window: Span,
    #[serde(serialize_with = "whole_if_whole")]
    floor: f64,
    #[serde(skip_serializing_if = "FloorRule::is_usual")]
    floor_rule: FloorRule,
    /// Missing: what the floor implies.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<i64>,
}

/// The way in which the floor and the share are combined.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FloorRule {
    Add,
    AtLeast,
}

impl FloorRule {
    fn is_usual(&self) -> bool {
        *self == Self::Add
    }
}

impl Default for WindowText {
    fn default() -> Self {
        WindowPlan::default().into()
    }
}

impl From<WindowPlan> for WindowText {
    fn from(plan: WindowPlan) -> Self {
        let floor_rule = match plan.floor() {
            FloorRate::Add(_) => FloorRule::Add,
            FloorRate::AtLeast(_) => FloorRule::AtLeast,
        };
        Self {
            ratio: plan.ratio().as_f64(),
            window: plan.window(),
            floor: plan.floor().rate().as_f64(),
            floor_rule,
            burst: plan.own_burst().map(i64::from),
        }
    }
}

impl TryFrom<WindowText> for WindowPlan {
    type Error = ConfigError;

    fn try_from(text: WindowText) -> Result<Self, ConfigError> {
        let rate = rate("budget.floor", text.floor)?;
        let floor = match text.floor_rule {
            FloorRule::Add => FloorRate::Add(rate),
            FloorRule::AtLeast => FloorRate::AtLeast(rate),
        };
        let plan = Self::new(share("budget.ratio", text.ratio)?)?.with_window(text.window)?;
        let plan = plan.with_floor(floor);
        match text.burst {
            Some(burst) => plan.with_burst(count("budget.burst", burst)?),
            None => Ok(plan),
        }
    }
}

/// Whole rates are written as people write them: `1`, not `1.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn whole_if_whole<S: Serializer>(rate: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // OK because a rate is at most 10^6, and only a whole one is cast.
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^6")]
    let whole = *rate as i64;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "at most 10^6, exact")]
    let is_whole = whole as f64 == *rate;
    if is_whole { serializer.serialize_i64(whole) } else { serializer.serialize_f64(*rate) }
}
