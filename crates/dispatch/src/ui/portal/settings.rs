//! The forms for endpoints: the same settings, and the same bounds, as with a key of the application.

use axum::Form;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::{StatusCode, Uri};
use serde_json::Value;
use stagger_scheduler::model::{Endpoint, EndpointId};

use super::endpoints::secret_page;
use super::error::PortalError;
use super::state::PortalVisitor;
use super::view::{PortalFormPage, PortalSection};
use crate::api::manage;
use crate::api::manage::SetBy;
use crate::ui::page_state::present;
use crate::ui::pages::visit::show;
use crate::ui::view::{EndpointForm, Note};

/// The settings that the form has. Others stay as they are.
const SHOWN: [&str; 16] = [
    "url",
    "description",
    "events",
    "timeout",
    "concurrency",
    "rate",
    "ordered",
    "permanent",
    "disable_after",
    "headers",
    "channels",
    "filter",
    "format",
    "signatures",
    "handshake",
    "auth",
];

/// An empty form.
pub(super) async fn new_endpoint(
    visitor: PortalVisitor,
    uri: Uri,
) -> Result<Response, PortalError> {
    Ok(show(&form_page(&visitor, &uri, None, EndpointForm::default(), None))?)
}

/// Makes an endpoint, and shows its secret; or the form again with what was wrong.
pub(super) async fn create_endpoint(
    visitor: PortalVisitor,
    uri: Uri,
    Form(form): Form<EndpointForm>,
) -> Result<Response, PortalError> {
    let now = present();
    let id = EndpointId::from_uuid(visitor.ids.make(now)?);
    let made = match settings(&form, None) {
        Ok(settings) => {
            let place = (id, visitor.application.id, SetBy::Application);
            manage::create_endpoint(&visitor.node, place, now, settings).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = made {
        return refused(&form_page(&visitor, &uri, None, form.without_secrets(), Some(error)));
    }
    let endpoint = visitor.endpoint(&id.to_string())?;
    Ok(show(&secret_page(&visitor, &endpoint, &uri, None, true))?)
}

/// The form with the settings of an endpoint.
pub(super) async fn edit_endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, PortalError> {
    let endpoint = visitor.endpoint(&endpoint)?;
    let form = EndpointForm::of(&endpoint);
    Ok(show(&form_page(&visitor, &uri, Some(endpoint.id), form, None))?)
}

/// Changes an endpoint; or shows the form again with what was wrong.
pub(super) async fn change_endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
    uri: Uri,
    Form(form): Form<EndpointForm>,
) -> Result<Response, PortalError> {
    let endpoint = visitor.endpoint(&endpoint)?;
    let changed = match settings(&form, Some(&endpoint)) {
        Ok(patch) => {
            let place = (endpoint.id, SetBy::Application);
            manage::change_endpoint(&visitor.node, place, present(), &patch).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) => {
            let path = format!("{}/endpoints/{}", visitor.base(), endpoint.id);
            Ok(Redirect::to(&Note::Changed.onto(&path)).into_response())
        }
        Err(error) => {
            let form = form.without_secrets();
            refused(&form_page(&visitor, &uri, Some(endpoint.id), form, Some(error)))
        }
    }
}

/// Deletes an endpoint.
pub(super) async fn delete_endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
) -> Result<Redirect, PortalError> {
    let endpoint = visitor.endpoint(&endpoint)?;
    visitor.node.delete_endpoint(endpoint.id).await?;
    Ok(Redirect::to(&Note::Deleted.onto(&visitor.base())))
}

/// The settings that were typed. One that the form does not show is not touched.
fn settings(form: &EndpointForm, old: Option<&Endpoint>) -> Result<Value, String> {
    let mut settings = form.settings(old)?;
    if let Value::Object(members) = &mut settings {
        members.retain(|name, _| SHOWN.contains(&name.as_str()));
    }
    Ok(settings)
}

fn refused(page: &PortalFormPage) -> Result<Response, PortalError> {
    let mut response = show(page)?;
    *response.status_mut() = StatusCode::BAD_REQUEST;
    Ok(response)
}

fn form_page(
    visitor: &PortalVisitor,
    uri: &Uri,
    endpoint: Option<EndpointId>,
    form: EndpointForm,
    error: Option<String>,
) -> PortalFormPage {
    let base = visitor.base();
    let back = endpoint.map_or_else(|| base.clone(), |id| format!("{base}/endpoints/{id}"));
    PortalFormPage {
        frame: visitor.frame(PortalSection::Endpoints, uri, None),
        is_new: endpoint.is_none(),
        path: uri.path().to_owned(),
        back,
        form,
        event_types: visitor.node.offered_event_types(),
        error,
    }
}
