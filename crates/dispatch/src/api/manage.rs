//! Applications and endpoints as the API makes and changes them, for the operator's page: the same defaults,
//! the same bounds, the same care for secrets.

use serde_json::Value;
use stagger::Instant;
use stagger_scheduler::model::{Application, ApplicationId, Endpoint, EndpointId};
use stagger_sender::secret_text;

use super::applications::{ApplicationKey, blank};
use super::body;
use super::endpoints::{MAX_ENDPOINTS, check_own, replaced};
use super::problem::Problem;
pub(crate) use super::wire::span_text;
use super::wire::{
    ApplicationSettings, EndpointContext, EndpointSettings, EndpointView, NewSecret, header_patch,
};
use crate::Error;
use crate::node::Node;

/// Makes an application of this name. Answers with its key, which is shown only once.
///
/// # Errors
/// The name is out of its bounds; the store did not do it.
pub(crate) async fn create_application(
    node: &Node,
    id: ApplicationId,
    now: Instant,
    name: &str,
) -> Result<String, Error> {
    let key = ApplicationKey::make()?;
    let mut application = blank(id, now);
    ApplicationSettings::named(name).apply(&mut application, node.retention())?;
    application.keys = vec![key.hash()];
    node.put_application(application).await?;
    Ok(key.reveal())
}

/// Gives an application another name.
///
/// # Errors
/// It is not there; the name is out of its bounds; the store did not do it.
pub(crate) async fn rename_application(
    node: &Node,
    id: ApplicationId,
    name: &str,
) -> Result<(), Error> {
    let _changing = node.changing().await;
    let known = node.application(id).ok_or_else(|| Error::not_found("application"))?;
    let mut application = Application::clone(&known);
    let (slots, labels) = (application.slots, application.labels.clone());
    let (retention, source) = (application.retention, application.source.clone());
    let event_validation = application.event_validation;
    ApplicationSettings::named(name).apply(&mut application, node.retention())?;
    let kept = Application { slots, labels, retention, source, event_validation, ..application };
    node.put_application(kept).await
}

/// The side that sets something of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetBy {
    /// An operator, who may set everything.
    Operator,
    /// The application itself, within the bounds on its keys.
    Application,
}

/// Makes an endpoint with these settings. Answers with its secret.
///
/// # Errors
/// In words: a setting is out of its bounds; there are too many endpoints; the store did not do it.
pub(crate) async fn create_endpoint(
    node: &Node,
    (id, application, by): (EndpointId, ApplicationId, SetBy),
    now: Instant,
    settings: Value,
) -> Result<String, String> {
    let create = async || -> Result<String, Problem> {
        let settings: EndpointSettings = body::value(settings)?;
        let context = EndpointContext { id, application, now, sender: node.sender() };
        let endpoint = settings.create(context)?;
        if by == SetBy::Application {
            check_own(node, &endpoint, None)?;
        }
        let _changing = node.changing().await;
        if node.endpoints(application).len() >= MAX_ENDPOINTS {
            return Err(Error::conflict("the application already has 1000 endpoints").into());
        }
        let secret = endpoint.secrets.first().map(secret_text).unwrap_or_default();
        node.put_endpoint(endpoint).await?;
        Ok(secret)
    };
    create().await.map_err(Problem::into_detail)
}

/// Changes an endpoint by a merge patch.
///
/// # Errors
/// In words: it is not there; a setting is out of its bounds; the store did not do it.
pub(crate) async fn change_endpoint(
    node: &Node,
    (id, by): (EndpointId, SetBy),
    now: Instant,
    patch: &Value,
) -> Result<(), String> {
    let change = async || -> Result<(), Problem> {
        let _changing = node.changing().await;
        let old = node.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
        let patch = patch.to_string();
        let patch = header_patch(patch.as_bytes(), &old)?;
        let settings: EndpointSettings = body::patched(&EndpointSettings::of(&old), &patch)?;
        let application = old.application;
        let context = EndpointContext { id, application, now, sender: node.sender() };
        let endpoint = settings.replace(&old, context)?;
        if by == SetBy::Application {
            check_own(node, &endpoint, Some(&old))?;
        }
        Ok(node.put_endpoint(endpoint).await?)
    };
    change().await.map_err(Problem::into_detail)
}

/// Replaces the secret of an endpoint. The old ones sign beside it for the default overlap.
///
/// # Errors
/// In words: it is not there; ten sign already; the store did not do it.
pub(crate) async fn replace_secret(
    node: &Node,
    id: EndpointId,
    now: Instant,
) -> Result<(), String> {
    let replace = async || -> Result<(), Problem> {
        let _changing = node.changing().await;
        let old = node.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
        Ok(node.put_endpoint(replaced(NewSecret::default(), &old, now)?).await?)
    };
    replace().await.map_err(Problem::into_detail)
}

/// The settings of an endpoint as JSON, without secret values.
pub(crate) fn shown(endpoint: &Endpoint, now: Instant) -> Value {
    serde_json::to_value(EndpointView::new(endpoint, None, now)).unwrap_or_default()
}
