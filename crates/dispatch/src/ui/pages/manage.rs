//! The forms for applications and endpoints.

use std::sync::Arc;

use axum::Form;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use serde::Deserialize;
use stagger_scheduler::model::{Application, ApplicationId, Endpoint, EndpointId};

use super::visit;
use super::visit::{PageError, show};
use crate::api::manage;
use crate::api::manage::SetBy;
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{CreatedPage, EndpointForm, EndpointFormPage, Note, Section};

/// The name that was typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct NameForm {
    name: String,
}

/// Makes an application, and shows its key.
pub(in crate::ui) async fn create_application(
    page_state: Visitor,
    Form(form): Form<NameForm>,
) -> Result<Response, PageError> {
    let now = present();
    let id = ApplicationId::from_uuid(page_state.ids.make(now)?);
    let key = manage::create_application(&page_state.node, id, now, form.name.trim()).await?;
    show(&CreatedPage {
        frame: page_state.frame(Section::Applications, "/ui/applications".into(), None),
        title: format!("{} is made", form.name.trim()),
        says: "Its key. Copy it now: it is not shown again.",
        secret: key,
        next: format!("/ui/applications/{id}"),
    })
}

/// Gives an application another name.
pub(in crate::ui) async fn rename_application(
    page_state: Visitor,
    Path(application): Path<String>,
    Form(form): Form<NameForm>,
) -> Result<Redirect, PageError> {
    let id: ApplicationId = visit::id(&application, "application")?;
    manage::rename_application(&page_state.node, id, form.name.trim()).await?;
    Ok(Redirect::to(&Note::Changed.onto(&format!("/ui/applications/{id}"))))
}

/// An empty form for an endpoint.
pub(in crate::ui) async fn new_endpoint(
    page_state: Visitor,
    Path(application): Path<String>,
) -> Result<Response, PageError> {
    let application = known_application(&page_state, &application)?;
    show(&form_page(&page_state, &application, None, EndpointForm::default(), None))
}

/// Makes an endpoint, and shows its secret; or the form again with what was wrong.
pub(in crate::ui) async fn create_endpoint(
    page_state: Visitor,
    Path(application): Path<String>,
    Form(form): Form<EndpointForm>,
) -> Result<Response, PageError> {
    let application = known_application(&page_state, &application)?;
    let now = present();
    let id = EndpointId::from_uuid(page_state.ids.make(now)?);
    let made = match form.settings(None) {
        Ok(settings) => {
            let ids = (id, application.id, SetBy::Operator);
            manage::create_endpoint(&page_state.node, ids, now, settings).await
        }
        Err(error) => Err(error),
    };
    match made {
        Ok(secret) => show(&CreatedPage {
            frame: page_state.frame(Section::Applications, "/ui/applications".into(), None),
            title: "The endpoint is made".into(),
            says: "Its secret, with which the receiver checks signatures. The API shows it again.",
            secret,
            next: format!("/ui/endpoints/{id}"),
        }),
        Err(error) => refused(&form_page(
            &page_state,
            &application,
            None,
            form.without_secrets(),
            Some(error),
        )),
    }
}

/// The form with the settings of an endpoint.
pub(in crate::ui) async fn edit_endpoint(
    page_state: Visitor,
    Path(endpoint): Path<String>,
) -> Result<Response, PageError> {
    let (application, endpoint) = known_endpoint(&page_state, &endpoint)?;
    let form = EndpointForm::of(&endpoint);
    show(&form_page(&page_state, &application, Some(endpoint.id), form, None))
}

/// Changes an endpoint; or shows the form again with what was wrong.
pub(in crate::ui) async fn change_endpoint(
    page_state: Visitor,
    Path(endpoint): Path<String>,
    Form(form): Form<EndpointForm>,
) -> Result<Response, PageError> {
    let (application, endpoint) = known_endpoint(&page_state, &endpoint)?;
    let changed = match form.settings(Some(&endpoint)) {
        Ok(patch) => {
            let ids = (endpoint.id, SetBy::Operator);
            manage::change_endpoint(&page_state.node, ids, present(), &patch).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) => {
            let path = format!("/ui/endpoints/{}", endpoint.id);
            Ok(Redirect::to(&Note::Changed.onto(&path)).into_response())
        }
        Err(error) => {
            let id = Some(endpoint.id);
            let form = form.without_secrets();
            refused(&form_page(&page_state, &application, id, form, Some(error)))
        }
    }
}

fn refused(page: &EndpointFormPage) -> Result<Response, PageError> {
    let mut response = show(page)?;
    *response.status_mut() = StatusCode::BAD_REQUEST;
    Ok(response)
}

fn known_application(page_state: &Visitor, id: &str) -> Result<Arc<Application>, PageError> {
    let found = page_state.node.application(visit::id(id, "application")?);
    found.ok_or_else(|| PageError::missing("application"))
}

fn known_endpoint(
    page_state: &Visitor,
    id: &str,
) -> Result<(Arc<Application>, Arc<Endpoint>), PageError> {
    let missing = || PageError::missing("endpoint");
    let endpoint = page_state.node.endpoint(visit::id(id, "endpoint")?).ok_or_else(missing)?;
    let application = page_state.node.application(endpoint.application).ok_or_else(missing)?;
    Ok((application, endpoint))
}

fn form_page(
    page_state: &Visitor,
    application: &Application,
    endpoint: Option<EndpointId>,
    form: EndpointForm,
    error: Option<String>,
) -> EndpointFormPage {
    let of_application = format!("/ui/applications/{}", application.id);
    let (path, back) = match endpoint {
        Some(id) => (format!("/ui/endpoints/{id}/edit"), format!("/ui/endpoints/{id}")),
        None => (format!("{of_application}/endpoints"), of_application),
    };
    EndpointFormPage {
        frame: page_state.frame(Section::Applications, path.clone(), None),
        application: application.name.clone(),
        is_new: endpoint.is_none(),
        path,
        back,
        form,
        event_types: page_state.node.offered_event_types(),
        error,
    }
}
