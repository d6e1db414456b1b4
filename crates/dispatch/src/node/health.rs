//! Whether a node is well, and how full it is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_scheduler::model::ApplicationId;
use tokio::sync::watch;

use crate::Error;

/// The health of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HealthState {
    /// It works.
    Well,
    /// The results of attempts cannot be stored now; the node tries again until they are.
    Failing(Error),
    /// It is shutting down.
    Stopping,
    /// It has ended by itself: another run owns the store.
    Ended(String),
}

/// The state that all tasks of a node check before they accept more work.
#[derive(Debug)]
pub(super) struct NodeHealth {
    state: watch::Sender<HealthState>,
    /// Open deliveries in the scheduler.
    open: AtomicUsize,
    /// Deliveries on their way onto it.
    reserved: AtomicUsize,
    /// The same two of each application that has some.
    applications: Mutex<HashMap<ApplicationId, ApplicationRoom>>,
    /// Settlements that are not durable yet.
    unsettled: AtomicUsize,
    /// Whether the store failed at the last message.
    accept_failing: AtomicBool,
}

/// The open deliveries of an application, and those on their way.
#[derive(Clone, Copy, Debug, Default)]
struct ApplicationRoom {
    open: usize,
    reserved: usize,
}

/// Deliveries that have been promised room.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub(super) struct Reservation<'a> {
    reserved: &'a AtomicUsize,
    count: usize,
}

/// Deliveries of one application that have been promised room.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub(super) struct ApplicationReservation<'a> {
    health: &'a NodeHealth,
    application: ApplicationId,
    count: usize,
}

impl NodeHealth {
    pub(super) fn new() -> Self {
        Self {
            state: watch::Sender::new(HealthState::Well),
            open: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            applications: Mutex::default(),
            unsettled: AtomicUsize::new(0),
            accept_failing: AtomicBool::new(false),
        }
    }

    /// Whether more can be taken on.
    pub(super) fn check(&self) -> Result<(), Error> {
        match &*self.state.borrow() {
            HealthState::Well => Ok(()),
            HealthState::Failing(error) => {
                Err(Error::busy(format!("results of attempts cannot be stored: {error}")))
            }
            HealthState::Stopping => Err(Error::busy("the dispatcher is stopping")),
            HealthState::Ended(why) => Err(Error::busy(why.clone())),
        }
    }

    /// Whether it is shutting down.
    pub(super) fn is_stopping(&self) -> bool {
        matches!(*self.state.borrow(), HealthState::Stopping)
    }

    /// Moves to `next`, and returns whether that was a change. An ended node stays ended, and a
    /// stopping one does not become healthy again.
    pub(super) fn turn(&self, next: HealthState) -> bool {
        self.state.send_if_modified(|state| {
            let stays = match state {
                HealthState::Well | HealthState::Failing(_) => false,
                HealthState::Stopping => !matches!(next, HealthState::Ended(_)),
                HealthState::Ended(_) => true,
            };
            let moves = !stays && *state != next;
            if moves {
                *state = next;
            }
            moves
        })
    }

    /// Whether the store failed at the last message, and has not been seen to work since.
    pub(super) fn is_accept_failing(&self) -> bool {
        self.accept_failing.load(Ordering::Relaxed)
    }

    /// The store failed at a message, or works. Logs the change.
    pub(super) fn set_accept_failing(&self, failure: Option<&Error>) {
        let failing = failure.is_some();
        if self.is_accept_failing() == failing
            || self.accept_failing.swap(failing, Ordering::Relaxed) == failing
        {
            return;
        }
        match failure {
            Some(error) => tracing::error!(%error, "messages not stored, refused"),
            None => tracing::info!("store takes messages again"),
        }
    }

    /// Waits until it has ended by itself, and says why.
    pub(super) async fn ended(&self) -> String {
        let mut states = self.state.subscribe();
        // Its sender is in `self`, and lives.
        let _lives = states.wait_for(|state| matches!(state, HealthState::Ended(_))).await.is_ok();
        // Read in a block of its own: a guard held over an await makes the future not `Send`.
        let why = match &*states.borrow() {
            HealthState::Ended(why) => Some(why.clone()),
            _ => None,
        };
        match why {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    /// Reserves room for `count` deliveries, if fewer than `most` are open then.
    pub(super) fn reserve(&self, count: usize, most: usize) -> Result<Reservation<'_>, Error> {
        let reserved = self.reserved.fetch_add(count, Ordering::Relaxed) + count;
        let reservation = Reservation { reserved: &self.reserved, count };
        if self.open() + reserved > most {
            return Err(Error::busy(format!("{most} deliveries are open, which is the limit")));
        }
        Ok(reservation)
    }

    /// Reserves room for `count` deliveries of one application, if fewer than `most` of its own are open
    /// then.
    ///
    /// A single request that is larger than `most` passes while nothing is open: it could never pass else.
    pub(super) fn reserve_of(
        &self,
        application: ApplicationId,
        count: usize,
        most: usize,
    ) -> Result<ApplicationReservation<'_>, Error> {
        let mut applications = self.applications();
        let room = applications.entry(application).or_default();
        let taken = room.open + room.reserved;
        if taken > 0 && taken + count > most {
            return Err(Error::over_share(format!(
                "{taken} deliveries of this application are open, and {most} may be"
            )));
        }
        room.reserved += count;
        drop(applications);
        Ok(ApplicationReservation { health: self, application, count })
    }

    /// The scheduler has this number of open deliveries of an application.
    pub(super) fn set_open_of(&self, application: ApplicationId, open: usize) {
        self.change_room(application, |room| room.open = open);
    }

    fn change_room(&self, application: ApplicationId, change: impl FnOnce(&mut ApplicationRoom)) {
        let mut applications = self.applications();
        let room = applications.entry(application).or_default();
        change(room);
        if room.open + room.reserved == 0 {
            applications.remove(&application);
        }
    }

    fn applications(&self) -> MutexGuard<'_, HashMap<ApplicationId, ApplicationRoom>> {
        self.applications.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn set_open(&self, open: usize) {
        self.open.store(open, Ordering::Relaxed);
    }

    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.load(Ordering::Relaxed)
    }

    pub(super) fn begin_settling(&self) {
        self.unsettled.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts `count` settlements as durable; returns the number that is left.
    pub(super) fn end_settling(&self, count: usize) -> usize {
        self.unsettled.fetch_sub(count, Ordering::Relaxed) - count
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.reserved.fetch_sub(self.count, Ordering::Relaxed);
    }
}

impl Drop for ApplicationReservation<'_> {
    fn drop(&mut self) {
        self.health.change_room(self.application, |room| room.reserved -= self.count);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn one_application_took_the_room_of_all() {
        let health = NodeHealth::new();
        let [greedy, other] = [1, 2].map(|n| ApplicationId::from_uuid(Uuid::from_u128(n)));
        health.set_open_of(greedy, 6);
        let reservation = health.reserve_of(greedy, 4, 10).expect("there is room for ten");
        let refused = health.reserve_of(greedy, 1, 10).expect_err("it has ten");
        assert!(refused.is_over_share() && refused.to_string().starts_with("10 deliveries"));
        assert!(health.reserve_of(other, 10, 10).is_ok());
        drop(reservation);
        health.set_open_of(greedy, 0);
        assert!(health.reserve_of(greedy, 11, 10).is_ok(), "it could never pass else");
        assert!(health.applications().is_empty(), "none has anything open");
    }

    #[test]
    fn room_that_was_not_used_is_given_back() {
        let health = NodeHealth::new();
        health.set_open(5);
        let reservation = health.reserve(5, 10).expect("there is room for ten");
        assert!(health.reserve(1, 10).is_err_and(|error| error.is_unavailable()));
        drop(reservation);
        assert!(health.reserve(5, 10).is_ok());
    }

    #[test]
    fn a_store_that_works_again_does_not_undo_a_shutdown() {
        let health = NodeHealth::new();
        let _ = health.turn(HealthState::Failing(Error::store("full")));
        assert!(health.check().is_err());
        let _ = health.turn(HealthState::Well);
        assert!(health.check().is_ok());
        let _ = health.turn(HealthState::Stopping);
        let _ = health.turn(HealthState::Well);
        assert!(health.check().is_err());
    }
}
