//! Calls of `accept` that come together share a transaction.

use std::sync::{Arc, MutexGuard, PoisonError};

use deadpool_postgres::Client;
use stagger_scheduler::model::NewMessage;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard, oneshot};

use super::accept::{Accept, AcceptCall, Choice};
use super::statement::DbError;
use super::writer::{Change, Changes, Counter, Memory, PostgresWriter};
use crate::fair_jobs::{FairJobs, JobRoom};
use crate::{ClusterAccept, Error};

/// Transactions that accept at the same time: one executes its statements while others wait for the disk. The
/// messages that come meanwhile are the next batch, because few large transactions cost the database much less
/// than many small ones.
const WORKERS: i16 = 3;
/// A batch of fewer calls costs the database nearly as much as one of so many: the next one collects until it has ended.
const FEW: usize = 16;
/// A batch of so many messages, or of so much weight, is large enough: the next one begins beside it.
const LARGE: usize = 128;
const LARGE_BYTES: usize = 512 << 10;
/// Calls in one transaction, and bytes of payloads, beyond which no further call is added: more would make all of them
/// wait for longer than they gain by sharing.
const BATCH: JobRoom = JobRoom { count: 512, weight: 4 << 20 };
/// The bytes that may wait: they are bounded where messages come in.
const QUEUED_BYTES: usize = usize::MAX / 2;

/// The weight of a row of a message or a delivery in that sum: 4096 deliveries fill a transaction.
const ROW: usize = 1024;

/// The queue of calls; its workers end when this is dropped.
#[derive(Debug)]
pub(super) struct Intake {
    queue: Arc<AcceptQueue>,
}

/// The calls that wait, in turn by application.
#[derive(Debug)]
struct AcceptQueue {
    waiting: std::sync::Mutex<WaitingJobs>,
    /// For the one worker that collects.
    more: Notify,
}

#[derive(Debug)]
struct WaitingJobs {
    jobs: FairJobs<AcceptJob>,
    closed: bool,
}

#[derive(Debug)]
struct AcceptJob {
    messages: Vec<NewMessage>,
    choice: Option<Choice>,
    reply: oneshot::Sender<Result<ClusterAccept, Error>>,
}

impl AcceptJob {
    fn call(&self) -> AcceptCall<'_> {
        AcceptCall { messages: &self.messages, choice: self.choice }
    }
}

impl Intake {
    /// Starts the workers, which end with this.
    pub(super) fn start(writer: &PostgresWriter, queue: usize) -> Self {
        let jobs = FairJobs::new(JobRoom { count: queue, weight: QUEUED_BYTES });
        let waiting = std::sync::Mutex::new(WaitingJobs { jobs, closed: false });
        let queue = AcceptQueue { waiting, more: Notify::new() };
        let (queue, turns) = (Arc::new(queue), Arc::new(Mutex::new(())));
        for worker in 0..WORKERS {
            let shared = (Arc::clone(&queue), Arc::clone(&turns));
            tokio::spawn(work(writer.clone(), Counter(worker), shared));
        }
        Self { queue }
    }

    /// Accepts: ready once it is durable.
    pub(super) async fn accept(
        &self,
        messages: Vec<NewMessage>,
        choice: Option<Choice>,
    ) -> Result<ClusterAccept, Error> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(AcceptJob { messages, choice, reply })?;
        answer.await.unwrap_or_else(|_| Err(Error::store("closed")))
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl AcceptQueue {
    fn push(&self, job: AcceptJob) -> Result<(), Error> {
        let owner = job.messages.first().map(|new| new.message.application);
        let weight = job.messages.iter().map(weight).sum();
        let full = |_| Error::busy("the store's queue of writes is full");
        self.waiting().jobs.push(owner, weight, job).map_err(full)?;
        self.more.notify_one();
        Ok(())
    }

    /// The next jobs; none when there will be no more.
    async fn next(&self) -> Vec<AcceptJob> {
        loop {
            if let Some(batch) = self.try_next() {
                return batch;
            }
            self.more.notified().await;
        }
    }

    fn try_next(&self) -> Option<Vec<AcceptJob>> {
        let mut waiting = self.waiting();
        let is_over = waiting.closed && waiting.jobs.is_empty();
        let batch = waiting.jobs.take(BATCH);
        (is_over || !batch.is_empty()).then_some(batch)
    }

    /// Takes no more jobs; those that wait are still written.
    fn close(&self) {
        self.waiting().closed = true;
        self.more.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingJobs> {
        // It is whole between any two of its calls.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn work(
    writer: PostgresWriter,
    counter: Counter,
    (queue, turns): (Arc<AcceptQueue>, Arc<Mutex<()>>),
) {
    loop {
        let turn = Arc::clone(&turns).lock_owned().await;
        let batch = queue.next().await;
        if batch.is_empty() {
            return;
        }
        let turn = (!is_large(&batch)).then_some(turn);
        write(&writer, counter, batch, turn).await;
    }
}

/// The turn of one worker to collect, and to execute what it has collected.
type BatchTurn = OwnedMutexGuard<()>;

/// Calls of `accept`, whose worker's turn ends when they are executed, or for few of them when they are written.
struct AcceptInTurn<'n> {
    accept: Accept<'n>,
    turn: std::sync::Mutex<Option<BatchTurn>>,
}

impl Change for AcceptInTurn<'_> {
    type Done = Vec<Result<ClusterAccept, Error>>;
    const AT_ONCE: bool = true;

    async fn make_at_once(
        &self,
        db: &Client,
        memory: &Memory,
        counter: i16,
    ) -> Result<Option<Self::Done>, DbError> {
        self.accept.store_at_once(db, memory, counter, || self.executed()).await
    }

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Self::Done, DbError> {
        self.accept.make(changes).await
    }

    fn executed(&self) {
        let Accept(calls) = self.accept;
        if calls.len() >= FEW {
            self.end_turn();
        }
    }

    fn in_doubt(&self) {
        self.end_turn();
    }
}

impl AcceptInTurn<'_> {
    fn end_turn(&self) {
        drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn is_large(batch: &[AcceptJob]) -> bool {
    let messages = || batch.iter().flat_map(|job| &job.messages);
    messages().count() >= LARGE || messages().map(weight).sum::<usize>() >= LARGE_BYTES
}

fn weight(new: &NewMessage) -> usize {
    new.payload.len() + ROW * new.endpoints.len()
}

/// Writes a batch. If one of its writes may have caused a failure, each is tried on its own.
async fn write(
    writer: &PostgresWriter,
    counter: Counter,
    batch: Vec<AcceptJob>,
    turn: Option<BatchTurn>,
) {
    let calls: Vec<_> = batch.iter().map(AcceptJob::call).collect();
    let together = AcceptInTurn { accept: Accept(&calls), turn: turn.into() };
    let answers = writer.write_surely(counter, &together).await;
    drop(together);
    match answers {
        Ok(answers) => {
            for (job, answer) in batch.into_iter().zip(answers) {
                // The caller may have stopped waiting; the messages are stored all the same.
                job.reply.send(answer).ok();
            }
        }
        Err(db_error) if db_error.may_be_the_data() && batch.len() > 1 => {
            for job in batch {
                let answer = writer.write_surely(counter, &Accept(&[job.call()])).await;
                job.reply.send(only(answer)).ok();
            }
        }
        Err(db_error) => {
            let error = Error::from(db_error);
            batch.into_iter().for_each(|job| drop(job.reply.send(Err(error.clone()))));
        }
    }
}

fn only(
    answer: Result<Vec<Result<ClusterAccept, Error>>, DbError>,
) -> Result<ClusterAccept, Error> {
    answer?.pop().unwrap_or_else(|| Err(Error::store("no answer")))
}
