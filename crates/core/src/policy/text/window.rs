//! `[budget.window]`: a share of the first attempts, over a window, plus a floor.

use serde::{Deserialize, Serialize};

use super::number::{count, share};
use crate::budget::{Floor, WindowPlan};
use crate::error::ConfigError;
use crate::time::Span;

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WindowText {
    ratio: f64,
    window: Span,
    floor: i64,
    #[serde(skip_serializing_if = "FloorRule::is_usual")]
    floor_rule: FloorRule,
}

/// How the floor joins the share.
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
        let (floor_rule, floor) = match plan.floor() {
            Floor::Add(rate) => (FloorRule::Add, rate),
            Floor::AtLeast(rate) => (FloorRule::AtLeast, rate),
        };
        let (ratio, window) = (plan.ratio().as_f64(), plan.window());
        Self { ratio, window, floor: i64::from(floor), floor_rule }
    }
}

impl TryFrom<WindowText> for WindowPlan {
    type Error = ConfigError;

    fn try_from(text: WindowText) -> Result<Self, ConfigError> {
        let rate = count("budget.floor", text.floor)?;
        let floor = match text.floor_rule {
            FloorRule::Add => Floor::Add(rate),
            FloorRule::AtLeast => Floor::AtLeast(rate),
        };
        Self::new(share("budget.ratio", text.ratio)?)?.with_window(text.window)?.with_floor(floor)
    }
}
