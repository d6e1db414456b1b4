//! Messages that become durable with the commit of a host's own transaction.

use stagger_scheduler::model::ApplicationId;
use stagger_store::tokio_postgres::Transaction;
use stagger_store::{Accepted, ClusterAccept, DeliveryStore};

use super::Submission;
use super::intake::{Intake, MOST_TRIES};
use super::submission::Receivers;
use crate::Error;

/// The most messages of one call: those of a batch of the API.
const MOST_MESSAGES: usize = 1_000;
/// The most rows of one call, messages and deliveries. They are written in one go, and the host holds their locks until it
/// commits. A single message always passes.
const MOST_ROWS: usize = 10_000;

impl Intake {
    /// Accepts messages of an application as a part of the caller's transaction: all or none.
    pub(super) async fn accept_within(
        &self,
        store: &dyn DeliveryStore,
        caller: &mut Transaction<'_>,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        self.check(application, &messages).await?;
        self.check_size(application, &messages)?;
        self.room.check_fleet()?;
        let began = self.clock.now();
        let wanted = self.receivers.request(Receivers::Of(application), messages, began)?;
        let mut looked = false;
        for _ in 0..MOST_TRIES {
            // In this order: a change during the fan-out costs another try, but is never missed.
            let settings_version = self.receivers.settings.version();
            let messages = match self.receivers.addressed(&wanted) {
                // Another node may just have made it.
                Err(error) if error.is_not_found() && !looked => {
                    looked = true;
                    self.check_again(&wanted).await?;
                    continue;
                }
                made => made?,
            };
            let _room = self.room.reserve(&messages)?;
            match store.accept_within(caller, settings_version, &messages).await? {
                ClusterAccept::Stored(accepted) => {
                    self.instruments.accepted(accepted.len(), self.clock.now() - began);
                    return Ok(accepted);
                }
                ClusterAccept::Outdated | ClusterAccept::NotLeading => {
                    self.check_again(&wanted).await?;
                }
            }
        }
        Err(Error::busy("settings changed during each of 10 tries"))
    }

    fn check_size(&self, application: ApplicationId, messages: &[Submission]) -> Result<(), Error> {
        let count = messages.len();
        if count > MOST_MESSAGES {
            let bound = format!("at most {MOST_MESSAGES} messages in one call");
            return Err(Error::invalid("messages", count, bound));
        }
        let routed = messages.iter().map(Submission::routed);
        let sizes = self.receivers.directory.fan_out_sizes(application, routed);
        let rows = count + sizes.into_iter().sum::<usize>();
        if count > 1 && rows > MOST_ROWS {
            let bound = format!("at most {MOST_ROWS} messages and deliveries together in one call");
            return Err(Error::invalid("messages", rows, bound));
        }
        Ok(())
    }
}
