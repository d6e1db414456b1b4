//! A world: a run of the lab, the form of its log, and its chance.

use stagger_core::{Entropy as _, Instant, Span};
use stagger_sim::{Purpose, RandomStream, RunPlan};

use super::log_lines::{LogForm, LogWriter};

/// A run of the lab that is watched through its log.
#[derive(Debug)]
pub(super) struct WatchedWorld {
    /// The family and the number of the variant.
    pub(super) name: String,
    /// The run.
    pub(super) plan: RunPlan,
    /// The seed of the run.
    pub(super) seed: u64,
    /// The lines that its server writes.
    pub(super) log: LogWriter,
}

/// The half of the worlds: one is for setting thresholds, and the other is what is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Half {
    /// SeenWorld while thresholds were set.
    Setting,
    /// Not looked at until the thresholds were set.
    #[default]
    Reported,
}

/// The chance of one world: numbers by its family, its half and its variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldChance {
    family: u32,
    half: Half,
    variant: u32,
}

impl WorldChance {
    pub(super) const fn new(family: u32, half: Half, variant: u32) -> Self {
        Self { family, half, variant }
    }

    /// The seed of the run.
    pub(super) fn seed(self) -> u64 {
        let half = u64::from(self.half == Half::Reported);
        u64::from(self.family) << 32 | half << 16 | u64::from(self.variant)
    }

    /// A whole number of a range, both ends included; `purpose` tells draws of one world apart.
    pub(super) fn whole(self, purpose: u32, from: u32, to: u32) -> u32 {
        let stream = RandomStream::new(self.seed(), Purpose::Run);
        let range = (Span::from_nanos(u64::from(from)), Span::from_nanos(u64::from(to)));
        let drawn = stream.at(purpose, 0).draw(range.0, range.1).as_nanos();
        u32::try_from(drawn).unwrap_or(to)
    }

    /// The number of the variant, from 0.
    pub(super) const fn variant(self) -> u32 {
        self.variant
    }

    /// The world of this plan, whose log has the form that is the variant's turn.
    pub(super) fn world(self, name: &str, plan: RunPlan, calls_a_second: u32) -> WatchedWorld {
        let turn = (self.family + self.variant) as usize;
        let form = LogForm::ALL[turn % LogForm::ALL.len()];
        WatchedWorld {
            name: format!("{name} {}, {}", self.variant + 1, form.name()),
            plan,
            seed: self.seed(),
            log: LogWriter::new(form, calls_a_second),
        }
    }
}

/// So many seconds after the origin.
pub(super) fn at(seconds: u32) -> Instant {
    Instant::ORIGIN + Span::from_secs(u64::from(seconds))
}
