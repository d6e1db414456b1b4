//! A report together with the scenario that it came from.

use stagger_core::{Instant, Span};
use stagger_sim::{Lockstep, Poisson, Report, Tutorial};

/// What there is to print.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storm<'a> {
    Lockstep(&'a Lockstep, &'a Report),
    Tutorial(&'a Tutorial, &'a Report),
    Poisson(&'a Report),
}

impl<'a> Storm<'a> {
    pub(super) const fn report(&self) -> &'a Report {
        match self {
            Self::Lockstep(_, report) | Self::Tutorial(_, report) | Self::Poisson(report) => report,
        }
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Lockstep(..) => "lockstep",
            Self::Tutorial(..) => "tutorial",
            Self::Poisson(..) => "poisson",
        }
    }

    /// What the scenario varies, where it varies anything.
    pub(super) const fn case(&self) -> Option<&'static str> {
        match self {
            Self::Lockstep(..) => None,
            Self::Tutorial(..) => Some("spacing"),
            Self::Poisson(..) => Some("outage"),
        }
    }

    pub(super) const fn callers(&self) -> Option<u32> {
        match self {
            Self::Lockstep(storm, _) => Some(storm.callers),
            Self::Tutorial(storm, _) => Some(storm.callers),
            Self::Poisson(..) => None,
        }
    }

    /// Where the picture of one case begins and may end; it ends earlier when nothing more comes.
    pub(super) fn picture(&self, case: Span) -> (Instant, Instant) {
        let origin = Instant::ORIGIN;
        let tail = Span::from_secs(3);
        match self {
            Self::Lockstep(..) => (origin, Instant::FAR),
            Self::Tutorial(..) => {
                (origin + Span::from_millis(1_900), origin + Tutorial::DOWN_UNTIL + tail)
            }
            Self::Poisson(..) => {
                (origin + Span::from_millis(1_500), origin + Poisson::DOWN_FROM + case + tail)
            }
        }
    }
}
