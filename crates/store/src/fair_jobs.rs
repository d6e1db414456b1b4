//! Jobs that wait for a writer, taken in turn from the applications that sent them.
//!
//! Turns are those of deficit round robin (Shreedhar and Varghese, 1996): in each turn an application may have the same
//! weight written, in few large jobs or in many small ones. So the wait of a job depends on the number of applications
//! that write, and not on how much each of them has queued.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use stagger_scheduler::model::ApplicationId;

/// The weight of one turn, in bytes: some dozen usual messages.
const TURN: usize = 32 << 10;

/// A job of more than this part of a batch is heavy: jobs before it are written first, because they would wait for all of
/// it.
const HEAVY: usize = 4;

/// The sender of a job: an application, or the node itself.
pub(crate) type JobOwner = Option<ApplicationId>;

/// A bounded queue with turns.
///
/// An owner may take up as much room as is still free, at most. So the room is never all taken by one: alone it gets half,
/// and those that come later find some.
#[derive(Debug)]
pub(crate) struct FairJobs<J> {
    owners: BTreeMap<JobOwner, OwnedJobs<J>>,
    turns: VecDeque<JobOwner>,
    count: usize,
    weight: usize,
    room: JobRoom,
    /// Whether the last batch was a heavy job.
    was_heavy: bool,
}

/// The most jobs, and the most of their weights in sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobRoom {
    pub(crate) count: usize,
    pub(crate) weight: usize,
}

#[derive(Debug)]
struct OwnedJobs<J> {
    jobs: VecDeque<(usize, J)>,
    weight: usize,
    /// The weight that may be taken in its turn.
    credit: usize,
}

impl<J> FairJobs<J> {
    pub(crate) const fn new(room: JobRoom) -> Self {
        Self {
            owners: BTreeMap::new(),
            turns: VecDeque::new(),
            count: 0,
            weight: 0,
            room,
            was_heavy: false,
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a job behind the others of its owner, or gives it back if there is no room for it.
    pub(crate) fn push(&mut self, owner: JobOwner, weight: usize, job: J) -> Result<(), J> {
        let free = self.room.count.saturating_sub(self.count);
        let (count, taken) =
            self.owners.get(&owner).map_or((0, 0), |own| (own.jobs.len(), own.weight));
        if free == 0 || count > free || taken > self.room.weight.saturating_sub(self.weight) {
            return Err(job);
        }
        let own = self.owners.entry(owner).or_insert_with(|| {
            self.turns.push_back(owner);
            OwnedJobs { jobs: VecDeque::new(), weight: 0, credit: TURN }
        });
        own.jobs.push_back((weight, job));
        own.weight += weight;
        self.weight += weight;
        self.count += 1;
        Ok(())
    }

    /// Takes jobs in their turns, at most `most.count` of them and as many as weigh `most.weight` together. A job that is
    /// heavier than that is taken alone, so that no others wait for the end of it. After a heavy job the light ones come
    /// first: whatever is queued, a light job waits for the end of one heavy job, and not of several.
    pub(crate) fn take(&mut self, most: JobRoom) -> Vec<J> {
        if mem::take(&mut self.was_heavy) {
            let light = self.take_light(most);
            if !light.is_empty() {
                return light;
            }
        }
        self.take_up_to(most, usize::MAX)
    }

    /// Takes jobs as [`take`](Self::take) does, and leaves the heavy ones, with all that wait behind one of their owner.
    fn take_light(&mut self, most: JobRoom) -> Vec<J> {
        self.take_up_to(most, most.weight / HEAVY)
    }

    /// Takes jobs that weigh `heaviest` at most.
    fn take_up_to(&mut self, most: JobRoom, heaviest: usize) -> Vec<J> {
        let (mut batch, mut weight) = (Vec::new(), 0);
        while batch.len() < most.count
            && let Some(next) = self.turn(heaviest)
            && (batch.is_empty() || (weight + next <= most.weight && next <= most.weight / HEAVY))
            && let Some(job) = self.pop()
        {
            self.was_heavy |= next > most.weight / HEAVY;
            weight += next;
            batch.push(job);
        }
        batch
    }

    /// Takes all jobs.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.room);
    }

    /// Passes turns on until the first job of the first owner has the credit that it needs and weighs `heaviest` at most;
    /// its weight.
    fn turn(&mut self, heaviest: usize) -> Option<usize> {
        let mut too_heavy = 0;
        while too_heavy < self.turns.len() {
            let own = self.owners.get_mut(self.turns.front()?)?;
            let weight = own.jobs.front()?.0;
            if weight > heaviest {
                too_heavy += 1;
            } else if weight <= own.credit {
                return Some(weight);
            } else {
                own.credit += TURN;
                too_heavy = 0;
            }
            self.turns.rotate_left(1);
        }
        None
    }

    /// The first job of the first owner.
    fn pop(&mut self) -> Option<J> {
        let owner = *self.turns.front()?;
        let own = self.owners.get_mut(&owner)?;
        let (weight, job) = own.jobs.pop_front()?;
        own.credit = own.credit.saturating_sub(weight);
        own.weight -= weight;
        if own.jobs.is_empty() {
            self.owners.remove(&owner);
            self.turns.pop_front();
        }
        self.weight -= weight;
        self.count -= 1;
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ROOM: JobRoom = JobRoom { count: 4096, weight: 64 << 20 };

    fn owner(n: u128) -> JobOwner {
        Some(ApplicationId::from_uuid(Uuid::from_u128(n)))
    }

    /// The names of all jobs in batches of this size.
    fn batches(jobs: &mut FairJobs<&'static str>, weight: usize) -> Vec<String> {
        let batch = || jobs.take(JobRoom { count: 512, weight }).concat();
        std::iter::repeat_with(batch).take_while(|batch| !batch.is_empty()).collect()
    }

    #[test]
    fn a_small_write_waited_behind_all_large_ones_of_another_application() {
        let mut jobs = FairJobs::new(ROOM);
        for _ in 0..100 {
            jobs.push(owner(1), 256 << 10, "A").unwrap();
        }
        jobs.push(owner(2), 1 << 10, "b").unwrap();
        let found = batches(&mut jobs, 256 << 10);
        assert_eq!((&found[0][..], &found[1][..]), ("b", "A"));
        assert!(found[1..].iter().all(|batch| batch == "A"));
    }

    #[test]
    fn many_small_writes_get_as_much_as_few_large_ones() {
        let mut jobs = FairJobs::new(ROOM);
        for _ in 0..1000 {
            jobs.push(owner(1), 128 << 10, "A").unwrap_or_default();
            jobs.push(owner(2), 1 << 10, "b").unwrap();
        }
        let found = batches(&mut jobs, 512 << 10);
        let small = |batch: &str| batch.matches('b').count();
        // Half of 512 KiB, or nearly.
        assert!((190..=320).contains(&small(&found[0])), "{}", found[0]);
        assert!((190..=320).contains(&small(&found[1])), "{}", found[1]);
    }

    #[test]
    fn one_application_filled_the_queue_of_all() {
        let mut jobs = FairJobs::new(JobRoom { count: 8, weight: 1000 });
        let filled = (0..).take_while(|_| jobs.push(owner(1), 1, "a").is_ok()).count();
        assert_eq!(filled, 5);
        assert!(jobs.push(owner(2), 1, "b").is_ok());
        let mut jobs = FairJobs::new(JobRoom { count: 100, weight: 1000 });
        let filled = (0..).take_while(|_| jobs.push(owner(1), 100, "a").is_ok()).count();
        assert_eq!(filled, 6);
        assert!(jobs.push(owner(2), 100, "b").is_ok());
    }

    #[test]
    fn a_small_write_waited_for_large_ones_of_several_applications() {
        let most = JobRoom { count: 512, weight: 256 << 10 };
        let mut jobs = FairJobs::new(ROOM);
        for n in [1, 2, 3].repeat(20) {
            jobs.push(owner(n), 256 << 10, "A").unwrap();
        }
        for _ in 0..20 {
            assert_eq!(jobs.take(most).concat(), "A");
            jobs.push(owner(4), 1 << 10, "b").unwrap();
            assert_eq!(jobs.take(most).concat(), "b");
        }
    }

    #[test]
    fn heavy_jobs_are_left_with_all_that_wait_behind_them() {
        let most = JobRoom { count: 512, weight: 256 << 10 };
        let mut jobs = FairJobs::new(ROOM);
        for (n, weight, job) in [(1, 65 << 10, "A"), (1, 1, "a"), (2, 64 << 10, "b"), (3, 1, "c")] {
            jobs.push(owner(n), weight, job).unwrap();
        }
        assert_eq!(jobs.take_light(most).concat(), "cb");
        assert_eq!(jobs.take_light(most).len(), 0);
        assert_eq!(jobs.take(most).concat(), "Aa");
    }

    #[test]
    fn jobs_of_one_owner_keep_their_order() {
        let mut jobs = FairJobs::new(ROOM);
        for (weight, job) in [(1, "1"), (1 << 20, "2"), (5, "3"), (0, "4")] {
            jobs.push(None, weight, job).unwrap();
        }
        assert_eq!(batches(&mut jobs, 10), ["1", "2", "34"]);
        assert!(jobs.is_empty());
        assert_eq!((jobs.weight, jobs.owners.len(), jobs.turns.len()), (0, 0, 0));
    }
}
