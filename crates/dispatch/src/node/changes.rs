//! Changes of applications and endpoints: the store first, then the memory.

use std::sync::Arc;

use super::fleet;
use super::parts::{Parts, run_to_completion};
use super::settling::Receipt;
use crate::Error;
use crate::model::{
    Application, ApplicationId, Delivery, DeliveryState, Disabled, Endpoint, EndpointId,
    EndpointState, MessageId,
};
use crate::scheduler::Scheduler;
use crate::store::{Cluster, EndpointCommand};

pub(super) async fn put_application(
    parts: Arc<Parts>,
    application: Application,
) -> Result<(), Error> {
    run_to_completion(async move {
        if let Some(cluster) = parts.store.cluster() {
            return fleet::put_application(&parts, cluster, application).await;
        }
        let _change = parts.changes.lock().await;
        parts.directory.check_keys(&application)?;
        parts.store.put_application(application.clone()).await?;
        let (id, slots) = (application.id, application.slots);
        parts.directory.put_application(application);
        parts.scheduler.ask(move |runner| runner.scheduler.put_application(id, slots)).await;
        Ok(())
    })
    .await
}

/// Removes the application from the directory first, so that no message fans out to it, and
/// restores it if the store fails.
pub(super) async fn delete_application(parts: Arc<Parts>, id: ApplicationId) -> Result<(), Error> {
    run_to_completion(async move {
        if let Some(cluster) = parts.store.cluster() {
            return fleet::delete_application(&parts, cluster, id).await;
        }
        let _change = parts.changes.lock().await;
        let removed = parts.directory.remove_application(id);
        let (application, endpoints) = removed.ok_or_else(|| Error::not_found("application"))?;
        if let Err(error) = parts.store.delete_application(id).await {
            parts.directory.put_application(Application::clone(&application));
            endpoints.into_iter().for_each(|known| parts.directory.put_endpoint(known));
            return Err(error);
        }
        let forget = move |runner: &mut super::runner::Runner| {
            endpoints.iter().for_each(|known| runner.forget(known.endpoint.id));
            runner.scheduler.remove_application(id);
        };
        parts.scheduler.ask(forget).await;
        Ok(())
    })
    .await
}

pub(super) async fn put_endpoint(parts: Arc<Parts>, endpoint: Endpoint) -> Result<(), Error> {
    check(&parts, &endpoint)?;
    run_to_completion(async move {
        if let Some(cluster) = parts.store.cluster() {
            return fleet::put_endpoint(&parts, cluster, endpoint).await;
        }
        let _change = parts.changes.lock().await;
        let owner = parts.directory.application(endpoint.application);
        owner.ok_or_else(|| Error::not_found("application"))?;
        parts.store.put_endpoint(endpoint.clone()).await?;
        let endpoint = Arc::new(endpoint);
        parts.know(Arc::clone(&endpoint));
        let now = parts.clock.now();
        parts
            .scheduler
            .ask(move |runner| runner.scheduler.put_endpoint(now, &endpoint, None))
            .await;
        Ok(())
    })
    .await
}

pub(super) async fn delete_endpoint(parts: Arc<Parts>, id: EndpointId) -> Result<(), Error> {
    run_to_completion(async move {
        if let Some(cluster) = parts.store.cluster() {
            return fleet::delete_endpoint(&parts, cluster, id).await;
        }
        let _change = parts.changes.lock().await;
        let endpoint = parts.directory.remove_endpoint(id);
        let endpoint = endpoint.ok_or_else(|| Error::not_found("endpoint"))?;
        if let Err(error) = parts.store.delete_endpoint(id, parts.clock.now()).await {
            parts.directory.put_endpoint(endpoint);
            return Err(error);
        }
        parts.scheduler.ask(move |runner| runner.forget(id)).await;
        Ok(())
    })
    .await
}

pub(super) async fn enable(parts: &Parts, id: EndpointId) -> Result<(), Error> {
    match elsewhere(parts, id) {
        Some(cluster) => fleet::send_command(parts, cluster, id, EndpointCommand::Enable).await,
        None => change(parts, id, move |scheduler, now| scheduler.enable(now, id)).await,
    }
}

pub(super) async fn disable(parts: &Parts, id: EndpointId) -> Result<(), Error> {
    match elsewhere(parts, id) {
        Some(cluster) => fleet::send_command(parts, cluster, id, EndpointCommand::Disable).await,
        None => {
            change(parts, id, move |scheduler, now| scheduler.disable(now, id, Disabled::ByHand))
                .await
        }
    }
}

pub(super) async fn cancel(
    parts: &Parts,
    message: MessageId,
    endpoint: EndpointId,
) -> Result<Delivery, Error> {
    parts.health.check()?;
    let cancel = move |runner: &mut super::runner::Runner| runner.cancel(message, endpoint);
    if let Some((delivery, receipt)) = parts.scheduler.ask(cancel).await.flatten() {
        receipt.wait().await?;
        return Ok(delivery);
    }
    let known = parts.store.delivery(message, endpoint).await?;
    let open = known.is_some_and(|delivery| delivery.state.is_open());
    let Some(cluster) = elsewhere(parts, endpoint).filter(|_| open) else {
        return Err(not_open(known));
    };
    fleet::send_command(parts, cluster, endpoint, EndpointCommand::Cancel(message)).await?;
    match parts.store.delivery(message, endpoint).await? {
        Some(delivery) if delivery.state == DeliveryState::Cancelled => Ok(delivery),
        other => Err(not_open(other)),
    }
}

/// The reason for which a delivery that is not scheduled cannot be cancelled.
fn not_open(delivery: Option<Delivery>) -> Error {
    delivery.map_or_else(
        || Error::not_found("delivery"),
        |delivery| Error::conflict(format!("the delivery is already {}", delivery.state.name())),
    )
}

/// The cluster, if another node leads the endpoint: the way to send it a command.
fn elsewhere(parts: &Parts, endpoint: EndpointId) -> Option<&dyn Cluster> {
    parts.store.cluster().filter(|_| !parts.leadership.leads(endpoint))
}

/// Rejects settings that the sender would refuse at every attempt.
fn check(parts: &Parts, endpoint: &Endpoint) -> Result<(), Error> {
    parts.sender.check(endpoint)?;
    if endpoint.timeout.is_zero() {
        return Err(Error::invalid("endpoint.timeout", endpoint.timeout, "above zero"));
    }
    Ok(())
}

async fn change(
    parts: &Parts,
    id: EndpointId,
    change: impl FnOnce(&mut Scheduler, stagger::Instant) -> Option<EndpointState> + Send + 'static,
) -> Result<(), Error> {
    parts.health.check()?;
    let receipt: Option<Option<Receipt>> =
        parts.scheduler.ask(move |runner| runner.change(id, change)).await;
    let stopped = || Error::busy("the dispatcher has stopped");
    let receipt = receipt.ok_or_else(stopped)?.ok_or_else(|| Error::not_found("endpoint"))?;
    receipt.wait().await
}
