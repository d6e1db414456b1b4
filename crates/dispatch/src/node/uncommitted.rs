//! The memory of messages that wait for the store, shared out between applications.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger_scheduler::model::ApplicationId;

use crate::Error;

/// The most bytes of messages that wait for the store; more are refused, so that a slow disk fills
/// no memory.
const ROOM: usize = 64 << 20;

/// The sender of messages; none for the dispatcher's own.
type MessageOwner = Option<ApplicationId>;

/// The bytes that wait, in all and of each application.
///
/// An application may take up as much as is still free, at most: alone it gets half of the room, and those that come
/// later find some.
#[derive(Clone, Debug, Default)]
pub(super) struct UncommittedBytes {
    taken: Arc<Mutex<TakenBytes>>,
}

#[derive(Debug, Default)]
struct TakenBytes {
    all: usize,
    by_owner: HashMap<MessageOwner, usize>,
}

/// Memory that messages take up until this is dropped.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub(super) struct UncommittedReservation {
    of: UncommittedBytes,
    owner: MessageOwner,
    bytes: usize,
}

impl UncommittedBytes {
    /// Reserves room. Messages larger than all room pass while nothing else waits: they could never pass else.
    ///
    /// # Errors
    /// The application has its share; there is no room.
    pub(super) fn reserve(
        &self,
        owner: MessageOwner,
        bytes: usize,
    ) -> Result<UncommittedReservation, Error> {
        let mut taken = self.taken();
        let (free, own) = (ROOM.saturating_sub(taken.all), taken.of(owner));
        if taken.all > 0 && own + bytes > free {
            return Err(if own > 0 {
                let share = "the share of the memory for messages that wait for the store";
                Error::over_share(format!("{own} bytes of this application reach {share}"))
            } else {
                Error::busy("the messages that wait for the store reach the memory limit")
            });
        }
        taken.all += bytes;
        *taken.by_owner.entry(owner).or_default() += bytes;
        drop(taken);
        Ok(UncommittedReservation { of: self.clone(), owner, bytes })
    }

    fn taken(&self) -> MutexGuard<'_, TakenBytes> {
        // It is whole between any two of its calls.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenBytes {
    fn of(&self, owner: MessageOwner) -> usize {
        self.by_owner.get(&owner).copied().unwrap_or_default()
    }

    fn give_back(&mut self, owner: MessageOwner, bytes: usize) {
        self.all = self.all.saturating_sub(bytes);
        let left = self.of(owner).saturating_sub(bytes);
        if left > 0 {
            self.by_owner.insert(owner, left);
        } else {
            self.by_owner.remove(&owner);
        }
    }
}

impl Drop for UncommittedReservation {
    fn drop(&mut self) {
        self.of.taken().give_back(self.owner, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn one_application_took_all_memory_of_messages_that_wait() {
        let room = UncommittedBytes::default();
        let [greedy, other] = [1, 2].map(|n| Some(ApplicationId::from_uuid(Uuid::from_u128(n))));
        let reserve = |_| room.reserve(greedy, 1 << 20).ok();
        let held: Vec<_> = (0..64).map_while(reserve).collect();
        assert_eq!(held.len(), 32);
        assert!(room.reserve(greedy, 1 << 20).is_err_and(|error| error.is_over_share()));
        let second = room.reserve(other, 16 << 20).expect("half of the room is free");
        assert!(room.reserve(other, 1 << 20).is_err_and(|error| error.is_over_share()));
        drop((held, second));
        let taken = room.taken();
        assert_eq!((taken.all, taken.by_owner.len()), (0, 0));
    }

    #[test]
    fn messages_larger_than_all_room_pass_alone() {
        let room = UncommittedBytes::default();
        let large = room.reserve(None, 2 * ROOM).expect("nothing else waits");
        assert!(room.reserve(None, 1).is_err());
        drop(large);
        assert!(room.reserve(None, 1).is_ok());
    }
}
