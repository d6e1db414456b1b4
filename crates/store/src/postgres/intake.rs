//! Calls of `accept` that come together share a transaction.

use std::sync::{Arc, PoisonError};

use deadpool_postgres::Client;
use stagger_scheduler::model::NewMessage;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

use super::accept::{Accept, AcceptCall, Choice};
use super::statement::DbError;
use super::writer::{Change, Changes, Counter, Memory, PostgresWriter};
use crate::{ClusterAccept, Error};

/// Transactions that accept at the same time: one executes its statements while others wait for the disk. The
/// messages that come meanwhile are the next batch, because few large transactions cost the database much less
/// than many small ones.
const WORKERS: i16 = 3;
/// A batch of so many messages, or of so much weight, is large enough: the next one begins beside it.
const LARGE: usize = 128;
const LARGE_BYTES: usize = 512 << 10;
/// Messages in one transaction, beyond which no further call is added.
const BATCH: usize = 512;
/// Bytes of payloads in one transaction, likewise: more would make all of them wait for longer than they
/// gain by sharing.
const BATCH_BYTES: usize = 4 << 20;

/// The weight of a row of a message or a delivery in that sum: 4096 deliveries fill a transaction.
const ROW: usize = 1024;

/// The queue of calls.
#[derive(Debug)]
pub(super) struct Intake {
    queue: mpsc::Sender<AcceptJob>,
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
        let (queue, jobs) = mpsc::channel(queue);
        let jobs = Arc::new(Mutex::new(jobs));
        for worker in 0..WORKERS {
            tokio::spawn(work(writer.clone(), Counter(worker), Arc::clone(&jobs)));
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
        self.queue.try_send(AcceptJob { messages, choice, reply }).map_err(
            |refused| match refused {
                TrySendError::Full(_) => Error::busy("the store's queue of writes is full"),
                TrySendError::Closed(_) => Error::store("closed"),
            },
        )?;
        answer.await.unwrap_or_else(|_| Err(Error::store("closed")))
    }
}

async fn work(
    writer: PostgresWriter,
    counter: Counter,
    jobs: Arc<Mutex<mpsc::Receiver<AcceptJob>>>,
) {
    loop {
        let mut turn = Arc::clone(&jobs).lock_owned().await;
        let batch = collect(&mut turn).await;
        if batch.is_empty() {
            return;
        }
        let turn = (!is_large(&batch)).then_some(turn);
        write(&writer, counter, batch, turn).await;
    }
}

/// The turn of one worker to collect, and to execute what it has collected.
type BatchTurn = OwnedMutexGuard<mpsc::Receiver<AcceptJob>>;

/// Calls of `accept`, whose worker's turn ends when they are executed.
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
        drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn is_large(batch: &[AcceptJob]) -> bool {
    let messages = || batch.iter().flat_map(|job| &job.messages);
    messages().count() >= LARGE || messages().map(weight).sum::<usize>() >= LARGE_BYTES
}

/// The next jobs; none when there will be no more.
async fn collect(jobs: &mut mpsc::Receiver<AcceptJob>) -> Vec<AcceptJob> {
    let (mut batch, mut count, mut bytes) = (Vec::new(), 0, 0);
    let mut next = jobs.recv().await;
    while let Some(job) = next {
        count += job.messages.len();
        bytes += job.messages.iter().map(weight).sum::<usize>();
        batch.push(job);
        let room = count < BATCH && bytes < BATCH_BYTES;
        next = if room { jobs.try_recv().ok() } else { None };
    }
    batch
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
    together.executed();
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
