//! Calls of `accept` that come together share a transaction.

use std::sync::Arc;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::accept::{Accept, AcceptCall, Choice};
use super::db_error::DbError;
use super::writer::{Counter, PostgresWriter};
use crate::Error;
use crate::model::NewMessage;
use crate::store::ClusterAccept;

/// Transactions that accept at the same time: one is being made while others wait for the disk.
const WORKERS: i16 = 3;
/// Messages in one transaction, beyond which no further call is added.
const BATCH: usize = 512;
/// Bytes of payloads in one transaction, likewise: more would make all of them wait for longer than they
/// gain by sharing.
const BATCH_BYTES: usize = 4 << 20;

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
        let batch = collect(&mut *jobs.lock().await).await;
        if batch.is_empty() {
            return;
        }
        write(&writer, counter, batch).await;
    }
}

/// The next jobs; none when there will be no more.
async fn collect(jobs: &mut mpsc::Receiver<AcceptJob>) -> Vec<AcceptJob> {
    let (mut batch, mut count, mut bytes) = (Vec::new(), 0, 0);
    let mut next = jobs.recv().await;
    while let Some(job) = next {
        count += job.messages.len();
        bytes += job.messages.iter().map(|new| new.payload.len()).sum::<usize>();
        batch.push(job);
        let room = count < BATCH && bytes < BATCH_BYTES;
        next = if room { jobs.try_recv().ok() } else { None };
    }
    batch
}

/// Writes a batch. If one of its writes may have caused a failure, each is tried on its own.
async fn write(writer: &PostgresWriter, counter: Counter, batch: Vec<AcceptJob>) {
    let calls: Vec<_> = batch.iter().map(AcceptJob::call).collect();
    match writer.write_surely(counter, &Accept(&calls)).await {
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
