//! Changes of settings in a cluster: written to the store, then read back as by every other node.

use super::settings_sync::sync_settings;
use crate::Error;
use crate::model::{Application, ApplicationId, Endpoint, EndpointId};
use crate::node::parts::Parts;
use crate::store::{Cluster, Notification};

pub(in crate::node) async fn put_application(
    parts: &Parts,
    cluster: &dyn Cluster,
    application: Application,
) -> Result<(), Error> {
    sync_settings(parts).await?;
    parts.directory.check_keys(&application)?;
    parts.store.put_application(application).await?;
    spread(parts, cluster).await
}

pub(in crate::node) async fn delete_application(
    parts: &Parts,
    cluster: &dyn Cluster,
    id: ApplicationId,
) -> Result<(), Error> {
    sync_settings(parts).await?;
    parts.directory.application(id).ok_or_else(|| Error::not_found("application"))?;
    parts.store.delete_application(id).await?;
    spread(parts, cluster).await
}

pub(in crate::node) async fn put_endpoint(
    parts: &Parts,
    cluster: &dyn Cluster,
    endpoint: Endpoint,
) -> Result<(), Error> {
    sync_settings(parts).await?;
    let owner = parts.directory.application(endpoint.application);
    owner.ok_or_else(|| Error::not_found("application"))?;
    parts.store.put_endpoint(endpoint).await?;
    spread(parts, cluster).await
}

pub(in crate::node) async fn delete_endpoint(
    parts: &Parts,
    cluster: &dyn Cluster,
    id: EndpointId,
) -> Result<(), Error> {
    sync_settings(parts).await?;
    parts.directory.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
    parts.store.delete_endpoint(id, parts.clock.now()).await?;
    spread(parts, cluster).await
}

/// Makes a stored change visible: this node reads it before it answers, and notifies the others.
async fn spread(parts: &Parts, cluster: &dyn Cluster) -> Result<(), Error> {
    cluster.notify(Notification::Settings).await;
    sync_settings(parts).await
}
