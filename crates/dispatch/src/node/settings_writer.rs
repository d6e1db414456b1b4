//! Changes of applications and endpoints: written to the store, then read back as every node reads
//! them.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::SettingsSync;
use super::tasks::run_to_completion;
use crate::Error;
use crate::model::{Application, ApplicationId, Endpoint, EndpointId};
use crate::send::Sender;
use crate::store::{ClusterHandle, Notification, SettingWrite};

/// Writes settings.
#[derive(Clone, Debug)]
pub(super) struct SettingsWriter {
    pub(super) cluster: ClusterHandle,
    pub(super) settings: Arc<SettingsSync>,
    pub(super) directory: Arc<Directory>,
    pub(super) sender: Sender,
    pub(super) clock: EngineClock,
    /// Held during a change, so that no other change of this node comes between its checks and the
    /// store.
    pub(super) turn: Arc<Mutex<()>>,
}

impl SettingsWriter {
    pub(super) async fn put_application(&self, application: Application) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let _turn = this.turn.lock().await;
            this.settings.sync().await?;
            this.directory.check_keys(&application)?;
            this.write(SettingWrite::PutApplication(application)).await
        })
        .await
    }

    pub(super) async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let _turn = this.turn.lock().await;
            this.settings.sync().await?;
            this.directory.application(id).ok_or_else(|| Error::not_found("application"))?;
            this.write(SettingWrite::DeleteApplication(id)).await
        })
        .await
    }

    pub(super) async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.check(&endpoint)?;
        let this = self.clone();
        run_to_completion(async move {
            let _turn = this.turn.lock().await;
            this.settings.sync().await?;
            let owner = this.directory.application(endpoint.application);
            owner.ok_or_else(|| Error::not_found("application"))?;
            this.write(SettingWrite::PutEndpoint(endpoint)).await
        })
        .await
    }

    pub(super) async fn delete_endpoint(&self, id: EndpointId) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let _turn = this.turn.lock().await;
            this.settings.sync().await?;
            this.directory.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
            this.write(SettingWrite::DeleteEndpoint(id, this.clock.now())).await
        })
        .await
    }

    /// Makes a change visible: this node reads it before it answers, and notifies the others.
    async fn write(&self, write: SettingWrite) -> Result<(), Error> {
        self.cluster.change_setting(write).await?;
        self.cluster.notify(Notification::Settings).await;
        self.settings.sync().await
    }

    /// Rejects settings that the sender would refuse at every attempt.
    fn check(&self, endpoint: &Endpoint) -> Result<(), Error> {
        self.sender.check(endpoint)?;
        if endpoint.timeout.is_zero() {
            return Err(Error::invalid("endpoint.timeout", endpoint.timeout, "above zero"));
        }
        Ok(())
    }
}
