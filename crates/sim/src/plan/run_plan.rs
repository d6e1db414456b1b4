//! Everything that one run is made of.

use stagger_core::Instant;

use super::{ArrivalProcess, Backend, Bystanders, CallerLayer, Fault, Fleet, Hop, MeasurementPlan};

/// Everything that a run is made of, except its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// The times of first attempts; several sources run side by side, at most
    /// [`MAX_SOURCES`](Self::MAX_SOURCES) with those of bystanders.
    pub arrivals: Vec<ArrivalProcess>,
    /// The way to the backend and back.
    pub hop: Hop,
    /// The callers, outermost first: each calls the next one, and the last calls the backend.
    /// Never empty.
    pub callers: Vec<CallerLayer>,
    /// The processes that the callers live in, and what those remember.
    pub fleet: Fleet,
    /// The backend.
    pub backend: Backend,
    /// The troubles of the backend.
    pub faults: Vec<Fault>,
    /// Others who call the backend meanwhile; they are in no figure but the counts in buckets.
    pub bystanders: Vec<Bystanders>,
    /// The measurements.
    pub watch: MeasurementPlan,
}

impl RunPlan {
    /// The most sources of calls: what a byte counts, with room for the layers of callers.
    pub const MAX_SOURCES: usize = 200;

    /// The sources of calls: the callers' own, then those of bystanders.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &ArrivalProcess> {
        self.arrivals.iter().chain(self.bystanders.iter().map(|others| &others.arrivals))
    }

    /// The one of this number among [`sources`](Self::sources).
    #[inline]
    pub(crate) fn source(&self, number: u8) -> Option<&ArrivalProcess> {
        let number = usize::from(number);
        let other = |number: usize| self.bystanders.get(number).map(|others| &others.arrivals);
        number.checked_sub(self.arrivals.len()).map_or_else(|| self.arrivals.get(number), other)
    }

    /// All who retry: the layers from the outermost on, then the bystanders.
    pub(crate) fn all_callers(&self) -> impl Iterator<Item = &CallerLayer> {
        self.callers.iter().chain(self.bystanders.iter().map(|others| &others.caller))
    }

    /// The caller of this number among [`all_callers`](Self::all_callers).
    #[inline]
    pub(crate) fn caller(&self, layer: u8) -> &CallerLayer {
        let layer = usize::from(layer);
        match layer.checked_sub(self.callers.len()) {
            None => &self.callers[layer],
            Some(other) => &self.bystanders[other].caller,
        }
    }

    /// Whether this caller's attempts go to the backend, and not to a caller further in.
    #[inline]
    pub(crate) const fn calls_backend(&self, layer: u8) -> bool {
        layer as usize + 1 >= self.callers.len()
    }

    /// Whether something goes wrong, and all that does never ends.
    pub(crate) fn trouble_lasts(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(|fault| fault.until == Instant::FAR)
    }

    /// Callers of this kind, and a backend that serves every attempt immediately.
    #[must_use]
    pub fn new(arrivals: ArrivalProcess, caller: CallerLayer) -> Self {
        Self {
            arrivals: vec![arrivals],
            hop: Hop::default(),
            callers: vec![caller],
            fleet: Fleet::default(),
            backend: Backend::default(),
            faults: Vec::new(),
            bystanders: Vec::new(),
            watch: MeasurementPlan::default(),
        }
    }
}
