//! `[hints]`: how far the server's hints are obeyed.

use serde::{Deserialize, Serialize};

use super::convert::{share, written_as};
use crate::error::ConfigError;
use crate::policy::{HintRule, HintScope, LongHint};
use crate::time::Span;

written_as!(HintRule, HintsText, "the table of the hint rule: max, spread, long, scope");

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HintsText {
    max: Span,
    spread: f64,
    long: LongText,
    /// Written only where it is not the default, as most policies do not have it.
    #[serde(skip_serializing_if = "ScopeText::is_default")]
    scope: ScopeText,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LongText {
    Stop,
    Shorten,
    OwnDelayPlus(Span),
}

#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeText {
    #[default]
    Call,
    Destination,
}

impl ScopeText {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for HintsText {
    fn default() -> Self {
        HintRule::default().into()
    }
}

impl From<HintRule> for HintsText {
    fn from(rule: HintRule) -> Self {
        let long = match rule.long() {
            LongHint::Stop => LongText::Stop,
            LongHint::Shorten => LongText::Shorten,
            LongHint::OwnDelayPlus(more) => LongText::OwnDelayPlus(more),
        };
        let scope = match rule.scope() {
            HintScope::Call => ScopeText::Call,
            HintScope::Destination => ScopeText::Destination,
        };
        Self { max: rule.max(), spread: rule.spread().as_f64(), long, scope }
    }
}

impl TryFrom<HintsText> for HintRule {
    type Error = ConfigError;

    fn try_from(text: HintsText) -> Result<Self, ConfigError> {
        let long = match text.long {
            LongText::Stop => LongHint::Stop,
            LongText::Shorten => LongHint::Shorten,
            LongText::OwnDelayPlus(more) => LongHint::OwnDelayPlus(more),
        };
        let scope = match text.scope {
            ScopeText::Call => HintScope::Call,
            ScopeText::Destination => HintScope::Destination,
        };
        Ok(Self::new(text.max, share("hints.spread", text.spread)?, long)?.with_scope(scope))
    }
}
