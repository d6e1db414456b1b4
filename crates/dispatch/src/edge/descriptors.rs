//! The descriptors that the process may open, shared between sending, storing and clients.

use std::num::NonZeroU32;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stagger::ConfigError;

/// Idle connections to receivers, which are kept besides those of attempts in flight.
const IDLE: u64 = 512;

/// Files and connections of the store, of Redis and of a collector, the process's own, and the second socket
/// of each of 256 name lookups.
const OWN: u64 = 512;

/// The fewest connections of clients with which a dispatcher is of use.
const FEWEST: u64 = 16;

/// The descriptors that the process may open at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors(u64);

impl Descriptors {
    /// Raises the soft limit of the process to its hard limit, as far as the system lets it.
    pub(crate) fn raise() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = Rlimit { current: maximum, maximum };
        let raised = current != maximum && setrlimit(Resource::Nofile, wanted).is_ok();
        // None is no limit.
        Self(if raised { maximum } else { current }.unwrap_or(u64::MAX))
    }

    /// The most connections of clients: as many as are wanted, or as many as sending leaves.
    ///
    /// # Errors
    /// `slots` that leave none, with the most that would.
    pub(crate) fn for_clients(
        self,
        slots: NonZeroU32,
        wanted: NonZeroU32,
    ) -> Result<usize, ConfigError> {
        let slots = u64::from(slots.get());
        let left = self.0.saturating_sub(slots + IDLE + OWN);
        if left < FEWEST {
            let most = self.0.saturating_sub(IDLE + OWN + FEWEST);
            let bound = format!(
                "at most {most}, because the process may open {} descriptors; raise that limit \
                 (`ulimit -n`, or LimitNOFILE of the service)",
                self.0
            );
            return Err(ConfigError::new("slots", slots, bound));
        }
        let wanted = u64::from(wanted.get());
        if left < wanted {
            let descriptors = self.0;
            tracing::warn!(
                wanted,
                connections = left,
                descriptors,
                "fewer connections of clients than configured, because descriptors are limited"
            );
        }
        Ok(usize::try_from(left.min(wanted)).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).expect("above zero")
    }

    #[test]
    fn clients_took_the_descriptors_of_sending() {
        let of = |descriptors, slots| Descriptors(descriptors).for_clients(n(slots), n(4096));
        assert_eq!(of(20_000, 1024), Ok(4096));
        assert_eq!(of(4096, 1024), Ok(2048));
        assert_eq!(of(u64::MAX, 100_000), Ok(4096));
        let refused = of(1024, 1024).expect_err("they do not fit").to_string();
        assert!(refused.contains("slots = 1024: must be at most 0"), "{refused}");
        assert_eq!(of(2048, 1008), Ok(16));
    }

    #[test]
    fn the_soft_limit_is_the_hard_one() {
        let raised = Descriptors::raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!((current, Descriptors(current.unwrap_or(u64::MAX))), (maximum, raised));
    }
}
