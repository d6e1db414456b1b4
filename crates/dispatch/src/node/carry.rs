//! One attempt, from the payload to the answer.

use std::sync::Arc;

use super::inbox::{Came, Command, Inbox};
use super::parts::Parts;
use super::payloads::Parcel;
use crate::Error;
use crate::lane::Launch;
use crate::model::{Answer, Failure, MessageId};
use crate::observe;
use crate::patience::Patience;
use crate::send::Written;

/// The promise to say what came of a launch: kept when dropped, too, so that no slot is ever lost.
#[derive(Debug)]
pub(super) struct Pledge {
    launch: Launch,
    inbox: Inbox,
    written: Written,
    kept: bool,
}

impl Pledge {
    pub(super) fn new(launch: Launch, inbox: Inbox) -> Self {
        Self { launch, inbox, written: Written::default(), kept: false }
    }

    fn keep(mut self, came: Came) {
        self.kept = true;
        self.inbox.tell(Command::Back(self.launch, came));
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let answer = if std::thread::panicking() { broken() } else { Answer::not_made() };
        let answer = Answer { written: self.written.get(), ..answer };
        self.inbox.tell(Command::Back(self.launch, Came::Answer(answer, false)));
    }
}

/// Makes the attempt that was launched, with the settings that its endpoint has now.
pub(super) async fn carry(parts: Arc<Parts>, pledge: Pledge) {
    let launch = pledge.launch;
    let Some(parcel) = parcel(&parts, launch.message).await else {
        return pledge.keep(Came::Gone);
    };
    // Deleted in this moment: the floor has forgotten it too.
    let Some(target) = parts.directory.target(launch.endpoint) else { return };
    let Parcel { message, payload } = parcel;
    let written = &pledge.written;
    let sent = parts.sender.send_noting(&target, (&message, payload), launch.number, written);
    let answer = observe::traced(&launch, sent).await;
    pledge.keep(Came::Answer(answer, message.event_type.is_operational()));
}

/// From memory, or else from the store, however long that is away.
async fn parcel(parts: &Parts, id: MessageId) -> Option<Parcel> {
    if let Some(parcel) = parts.payloads.take(id) {
        return Some(parcel);
    }
    let mut patience = Patience::new();
    loop {
        match read(parts, id).await {
            Ok(parcel) => return parcel,
            Err(error) => {
                tracing::warn!(message = %id, %error, "a payload cannot be read, trying again");
                patience.wait().await;
            }
        }
    }
}

async fn read(parts: &Parts, id: MessageId) -> Result<Option<Parcel>, Error> {
    // Nobody closes it.
    let _permit = parts.reads.acquire().await;
    let Some(message) = parts.store.message(id).await? else { return Ok(None) };
    let payload = parts.store.payload(id).await?;
    Ok(payload.map(|payload| Parcel { message: Arc::new(message), payload }))
}

/// The answer of an attempt that a defect of the dispatcher ended: it counts, so that it cannot go on
/// for ever.
fn broken() -> Answer {
    let detail = Some("the attempt panicked".to_owned());
    Answer { result: Err(Failure::Transport), detail, ..Answer::not_made() }
}
