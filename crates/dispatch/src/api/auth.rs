//! Authenticates a caller, and checks that the resource belongs to it.
//!
//! A handler gets its resource through these extractors, so that no handler can forget the check of
//! its owner. A resource of another application is not found: 404, never 403, so that ids cannot be
//! probed.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, NestedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::AUTHORIZATION;
use http::request::Parts;
use stagger_scheduler::model::{
    ApiKeyId, Application, ApplicationId, Delivery, Endpoint, EndpointId, ExternalId, KeyHash,
    Message, MessageId, PortalLinkId,
};
use subtle::{Choice, ConstantTimeEq};

use super::problem::Problem;
use super::state::Api;
use crate::access::{ApiKey, Operator, Rule, Scope, rule};

/// The caller of a request, as its key says.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    /// The admin or an operator, whose role allows the route.
    Operator(Operator),
    /// Another key: that of an application, which may be unknown to this node as yet.
    Application(KeyHash),
    /// An API key, whose scopes allow the route.
    Key(Arc<ApiKey>),
}

/// Lets a request through if its caller may use the route; the table of [rules](crate::access) says so.
///
/// Routes that are not in the table take no key. All others get their caller from here only.
pub(super) async fn authorize(State(api): State<Api>, request: Request, next: Next) -> Response {
    let Some(rule) = route(&request).and_then(|path| rule(request.method(), path)) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    match caller(&parts, &api, rule).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// The pattern of the route as the table has it: without the path below which a host has nested the API.
fn route(request: &Request) -> Option<&str> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let nested = request.extensions().get::<NestedPath>().map_or("", NestedPath::as_str);
    path.strip_prefix(nested)
}

async fn caller(parts: &Parts, api: &Api, rule: &Rule) -> Result<Caller, Problem> {
    let BearerKey { hash: key, is_api_key } = bearer(parts)?;
    if is_api_key {
        // Every call looks whether the key was deleted a moment ago, at any node.
        api.node().sync_settings().await?;
        if let Some(key) = api.node().api_key(key) {
            check_scopes(&key, rule, api)?;
            return Ok(Caller::Key(key));
        }
    }
    // The most frequent callers first: for them no file is looked at.
    if rule.applications && api.node().application_of_key(key).is_some() {
        return Ok(Caller::Application(key));
    }
    if let Some(operator) = api.staff().find(key) {
        if operator.role < rule.role {
            return Err(Problem::forbidden(format!(
                "the role {} may not do this; it takes the role {}",
                operator.role, rule.role
            )));
        }
        return Ok(Caller::Operator(operator));
    }
    if rule.applications {
        return Ok(Caller::Application(key));
    }
    api.node().sync_settings().await?;
    match api.node().application_of_key(key) {
        Some(_) => {
            Err(Problem::forbidden("this takes the key of an operator, not of an application"))
        }
        None => Err(unknown_key(parts, api).await),
    }
}

/// Whether an API key may use a route now.
fn check_scopes(key: &ApiKey, rule: &Rule, api: &Api) -> Result<(), Problem> {
    if key.has_expired(api.now()) {
        return Err(Problem::unauthorized("the key has expired"));
    }
    if rule.scopes.is_empty() {
        return Err(Problem::no_rule());
    }
    if let Some(missing) = rule.scopes.iter().find(|scope| !key.has(**scope)) {
        return Err(Problem::forbidden(format!("the key lacks the scope {missing}")));
    }
    if key.application.is_some() && !rule.applications {
        return Err(Problem::forbidden("this takes a key that is not limited to one application"));
    }
    api.node().note_key_use(key.id, api.now());
    Ok(())
}

/// An operator asks, or an API key for all applications: a resource that is no application's.
#[derive(Clone, Debug)]
pub(super) struct ByOperator;

impl FromRequestParts<Api> for ByOperator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        match parts.extensions.get::<Caller>() {
            Some(Caller::Operator(_)) => {}
            // Its settings were followed when the key was looked up.
            Some(Caller::Key(key)) if key.application.is_none() => return Ok(Self),
            Some(Caller::Key(_) | Caller::Application(_)) | None => return Err(Problem::no_rule()),
        }
        api.node().sync_settings().await?;
        Ok(Self)
    }
}

/// The application `{app}` of the path, asked for by itself or by an operator.
#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) application: Arc<Application>,
    /// The key of the application that was shown, if it is one.
    pub(super) key: Option<KeyHash>,
    /// Whether an operator asks, or a key that may do everything: without the bounds on applications.
    pub(super) by_operator: bool,
}

impl Tenant {
    pub(super) fn id(&self) -> ApplicationId {
        self.application.id
    }

    /// Takes tokens for `more` requests than one. Operators are not counted.
    pub(super) fn count(&self, api: &Api, more: usize) -> Result<(), Problem> {
        if self.by_operator || more == 0 {
            return Ok(());
        }
        let tokens = u32::try_from(more).unwrap_or(u32::MAX);
        api.limiter().take(self.id(), tokens, api.recent()).map_err(Problem::too_many)
    }
}

impl FromRequestParts<Api> for Tenant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, api).await?;
        let id = param::<PathId<ApplicationId>>(parts, "app", "application").await;
        let find = |id: &PathId<ApplicationId>| match id {
            PathId::Own(id) => api.node().application(*id),
            PathId::Uid(uid) => api.node().application_of_uid(uid),
        };
        let known = id.as_ref().is_ok_and(|id| find(id).is_some());
        // The settings were followed when an API key was looked up.
        let is_current = matches!(caller, Caller::Key(_));
        if !is_current && (!known || !is_message(parts)) {
            // Another node may have made or changed it a moment ago. For a message the store looks itself.
            api.node().sync_settings().await?;
        }
        let application =
            id.and_then(|id| find(&id).ok_or_else(|| Problem::not_found("application")));
        let key = match caller {
            Caller::Operator(_) => {
                return Ok(Self { application: application?, key: None, by_operator: true });
            }
            Caller::Key(key) => {
                let application = application.ok().filter(|it| key.reaches(it.id));
                let application = application.ok_or_else(|| Problem::not_found("application"))?;
                let by_operator = key.has(Scope::Admin);
                let tenant = Self { application, key: None, by_operator };
                tenant.count(api, 1)?;
                return Ok(tenant);
            }
            Caller::Application(key) => key,
        };
        if let Ok(application) = application
            && has_key(&application, key)
        {
            let tenant = Self { application, key: Some(key), by_operator: false };
            tenant.count(api, 1)?;
            return Ok(tenant);
        }
        match api.node().application_of_key(key) {
            Some(_) => Err(Problem::not_found("application")),
            None => Err(unknown_key(parts, api).await),
        }
    }
}

/// The endpoint `{ep}` of the path.
#[derive(Clone, Debug)]
pub(super) struct OwnEndpoint {
    pub(super) tenant: Tenant,
    pub(super) endpoint: Arc<Endpoint>,
}

impl FromRequestParts<Api> for OwnEndpoint {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let tenant = Tenant::from_request_parts(parts, api).await?;
        let endpoint = match param::<PathId<EndpointId>>(parts, "ep", "endpoint").await? {
            PathId::Own(id) => api.node().endpoint(id),
            PathId::Uid(uid) => api.node().endpoint_of_uid(tenant.id(), &uid),
        };
        match endpoint.filter(|endpoint| endpoint.application == tenant.id()) {
            Some(endpoint) => Ok(Self { tenant, endpoint }),
            None => Err(Problem::not_found("endpoint")),
        }
    }
}

/// The link `{link}` of the path, to the portal of `{app}`. It may never have been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnLink {
    pub(super) application: ApplicationId,
    pub(super) id: PortalLinkId,
}

impl FromRequestParts<Api> for OwnLink {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let tenant = Tenant::from_request_parts(parts, api).await?;
        let id = param::<PortalLinkId>(parts, "link", "link").await?;
        Ok(Self { application: tenant.id(), id })
    }
}

/// The API key `{key}` of the path. It may never have been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnApiKey(pub(super) ApiKeyId);

impl FromRequestParts<Api> for OwnApiKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        param::<ApiKeyId>(parts, "key", "API key").await.map(Self)
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::no_rule)
    }
}

/// The message `{msg}` of the path.
#[derive(Clone, Debug)]
pub(super) struct OwnMessage(pub(super) Message);

impl FromRequestParts<Api> for OwnMessage {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let tenant = Tenant::from_request_parts(parts, api).await?;
        let id = param::<MessageId>(parts, "msg", "message").await?;
        let message = api.node().store().message(id).await?;
        match message.filter(|message| message.application == tenant.id()) {
            Some(message) => Ok(Self(message)),
            None => Err(Problem::not_found("message")),
        }
    }
}

/// The delivery of `{msg}` to `{ep}`. The endpoint may be gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnDelivery(pub(super) Delivery);

impl FromRequestParts<Api> for OwnDelivery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let tenant = Tenant::from_request_parts(parts, api).await?;
        let message = param::<MessageId>(parts, "msg", "message").await?;
        let endpoint = match param::<PathId<EndpointId>>(parts, "ep", "endpoint").await? {
            PathId::Own(id) => id,
            PathId::Uid(uid) => {
                let endpoint = api.node().endpoint_of_uid(tenant.id(), &uid);
                endpoint.ok_or_else(|| Problem::not_found("endpoint"))?.id
            }
        };
        let delivery = api.node().store().delivery(message, endpoint).await?;
        match delivery.filter(|delivery| delivery.application == tenant.id()) {
            Some(delivery) => Ok(Self(delivery)),
            None => Err(Problem::not_found("delivery")),
        }
    }
}

/// Whether the request sends messages: the most frequent one.
fn is_message(parts: &Parts) -> bool {
    parts.method == Method::POST && parts.uri.path().contains("/messages")
}

/// The key that a request shows, as its hash.
struct BearerKey {
    hash: KeyHash,
    /// Whether it has the form of an API key.
    is_api_key: bool,
}

/// The bearer key (RFC 6750 section 2.1).
fn bearer(parts: &Parts) -> Result<BearerKey, Problem> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Problem::unauthorized("one header is needed: Authorization: Bearer KEY"));
    };
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => {
            let key = key.trim_matches(' ');
            Ok(BearerKey { hash: KeyHash::of(key), is_api_key: ApiKey::is_form_of(key) })
        }
        _ => Err(Problem::unauthorized("the header must be: Authorization: Bearer KEY")),
    }
}

async fn unknown_key(parts: &Parts, api: &Api) -> Problem {
    api.wrong_keys().note(&parts.extensions, "api").await;
    Problem::unauthorized("unknown key")
}

/// All keys are looked at, however soon one fits.
fn has_key(application: &Application, key: KeyHash) -> bool {
    application.keys.iter().fold(Choice::from(0), |found, own| found | same(*own, key)).into()
}

fn same(one: KeyHash, other: KeyHash) -> Choice {
    one.as_bytes().ct_eq(other.as_bytes())
}

/// The beginning of a caller's own id in a path.
const UID: &str = "uid:";

/// An application or an endpoint in a path: its id, or the one that a caller gave it.
enum PathId<T> {
    Own(T),
    Uid(ExternalId),
}

impl<T: FromStr> FromStr for PathId<T> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_prefix(UID) {
            Some(uid) => uid.parse().map(Self::Uid).map_err(drop),
            None => text.parse().map(Self::Own).map_err(drop),
        }
    }
}

/// The id in the path. A text that can be no id names nothing.
async fn param<T: FromStr>(
    parts: &mut Parts,
    name: &str,
    what: &'static str,
) -> Result<T, Problem> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| Problem::not_found(what))?;
    let text = params.iter().find(|(param, _)| *param == name).map_or("", |(_, text)| text);
    text.parse().map_err(|_| Problem::not_found(what))
}
