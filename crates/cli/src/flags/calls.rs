//! Facts about the calls under a policy: the flags that several commands share.

use clap::Args;
use stagger_core::Span;
use stagger_explain::Setting;

use crate::policy_file::{CAPACITY, FLEET, LAYERS, RPS};

/// Facts about the calls, which win over those of a file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CallsFlags {
    /// The longest time that a call may take, retries included
    #[arg(long, value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    slo: Option<Span>,

    /// First attempts a second of one process
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, RPS), allow_negative_numbers = true)]
    rps: Option<f64>,

    /// Processes that call the same destination
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, FLEET), allow_negative_numbers = true)]
    fleet: Option<u32>,

    /// Calls a second that the destination serves
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, CAPACITY), allow_negative_numbers = true)]
    downstream_capacity: Option<f64>,

    /// Services of a chain, each of which retries
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, LAYERS), allow_negative_numbers = true)]
    layers: Option<u32>,

    /// Whether the calls may be repeated without harm
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    idempotent: Option<bool>,
}

impl CallsFlags {
    /// The facts of a file and of the flags together.
    pub(crate) fn over(&self, file: &Setting) -> Setting {
        Setting {
            slo: self.slo.or(file.slo),
            rps: self.rps.or(file.rps),
            fleet: self.fleet.or(file.fleet),
            downstream_capacity: self.downstream_capacity.or(file.downstream_capacity),
            layers: self.layers.or(file.layers),
            idempotent: self.idempotent.or(file.idempotent),
        }
    }
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("must be more than 0s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(format!("must be {error}")),
    }
}

fn number(text: &str, (lo, hi): (f64, f64)) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (lo..=hi).contains(number));
    number.ok_or_else(|| format!("must be a number from {lo} to {hi}"))
}

fn count(text: &str, (lo, hi): (u32, u32)) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (lo..=hi).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {lo} to {hi}"))
}
