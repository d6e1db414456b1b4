//! A request for an access token: client credentials (RFC 6749 section 4.4), over the guarded dialer.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use serde::Deserialize;
use stagger::Span;
use stagger_scheduler::model::{ApplicationId, AttemptFailure};

use crate::connection::{Lost, within};
use crate::credentials::{TokenClient, bearer};
use crate::dial::{ConnectPhase, Dialer};
use crate::header::AGENT;
use crate::reply;
use crate::send_failure::SendFailure;
use crate::token_cache::IssuedToken;

/// The longest time for a token, of the attempt's own: a server that hangs must not hold all of an endpoint's attempts for
/// their whole time.
const FETCH_TIME: Span = Span::from_secs(10);
/// Longest reply, in bytes: the largest tokens of common servers, with room to spare.
const MAX_REPLY: usize = 32 << 10;
/// Longest token, in bytes: with the other headers it fits the head that most servers take.
const MAX_TOKEN: usize = 8 << 10;
/// Longest error code that is repeated, in characters.
const MAX_CODE: usize = 64;

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// A success (RFC 6749 section 5.1). Some servers write the number as text.
#[derive(Deserialize)]
struct TokenReply {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

/// A failure (RFC 6749 section 5.2), of which only the code is shown: a description may repeat what was sent.
#[derive(Deserialize)]
struct ErrorReply {
    error: String,
}

/// Fetches a token for an attempt of `of`, in a connection of its own.
///
/// # Errors
/// [`AttemptFailure::Token`] with the reason, or the node's own lack of resources.
pub(crate) async fn fetch_token(
    dialer: &Dialer,
    client: &TokenClient,
    of: ApplicationId,
) -> Result<IssuedToken, SendFailure> {
    let mut phase = ConnectPhase::Reply;
    let fetched = within(FETCH_TIME, pin!(ask(dialer, client, of, &mut phase))).await;
    fetched.unwrap_or_else(|| {
        Err(refused(format!("no answer within {FETCH_TIME} ({})", phase.name())))
    })
}

async fn ask(
    dialer: &Dialer,
    client: &TokenClient,
    of: ApplicationId,
    phase: &mut ConnectPhase,
) -> Result<IssuedToken, SendFailure> {
    if client.address.tls_name.is_none() && !dialer.guard.allows_private() {
        return Err(refused("it has no https address"));
    }
    let tls = dialer.roots.plain();
    let dialled = dialer.dial((&client.address, of), tls, phase).await;
    let mut connection = dialled.map_err(|failure| match failure.failure {
        AttemptFailure::Local | AttemptFailure::Stopped => failure,
        _ => refused(failure.detail),
    })?;
    let reply = connection.exchange(request(client)).await.map_err(|lost| match lost {
        Lost::Midway(Some(error)) => refused(SendFailure::by(AttemptFailure::Token, &error).detail),
        Lost::Midway(None) | Lost::Unsent => refused("the connection was closed"),
    })?;
    let (head, body) = reply.into_parts();
    let body = connection.read_whole(body, MAX_REPLY).await;
    let hint = reply::hint(head.status, &head.headers);
    let token = read(head.status, body.as_deref());
    token.map_err(|why| SendFailure { hint, ..refused(why) })
}

fn request(client: &TokenClient) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(client.body.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = client.address.target.clone();
    let headers = request.headers_mut();
    headers.insert(HOST, client.address.host_header.clone());
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(CONTENT_TYPE, FORM);
    headers.insert(ACCEPT, JSON);
    headers.insert(CONNECTION, CLOSE);
    headers.extend(client.authorization.clone().map(|value| (AUTHORIZATION, value)));
    request
}

/// The token of a reply, or the reason for which there is none.
fn read(status: StatusCode, body: Option<&[u8]>) -> Result<IssuedToken, String> {
    let Some(body) = body else {
        return Err(format!("its reply breaks off or is longer than {} KiB", MAX_REPLY >> 10));
    };
    if status != StatusCode::OK {
        let code = serde_json::from_slice(body).ok().and_then(code);
        let code = code.map_or_else(String::new, |code| format!(": {code}"));
        return Err(format!("it answers {}{code}", status.as_u16()));
    }
    // No words of the parser: they repeat what they found.
    let reply: TokenReply = serde_json::from_slice(body)
        .map_err(|_| "its reply is not JSON with access_token and token_type".to_owned())?;
    if !reply.token_type.eq_ignore_ascii_case("bearer") {
        return Err("its token is of another type than Bearer".to_owned());
    }
    let authorization =
        bearer(&reply.access_token).filter(|_| reply.access_token.len() <= MAX_TOKEN);
    let authorization = authorization.ok_or("its token is empty, too long, or no visible ASCII")?;
    Ok(IssuedToken { authorization, expires_in: reply.expires_in.and_then(|it| it.span()) })
}

impl Seconds {
    fn span(&self) -> Option<Span> {
        let seconds = match self {
            Self::Number(seconds) => *seconds,
            Self::Text(text) => text.trim().parse().ok()?,
        };
        Duration::try_from_secs_f64(seconds.max(0.0)).ok().map(Span::from)
    }
}

fn code(reply: ErrorReply) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let code = reply.error;
    (code.len() <= MAX_CODE && code.bytes().all(plain)).then_some(code)
}

fn refused(why: impl AsRef<str>) -> SendFailure {
    let detail = format!("no access token from the authorization server: {}", why.as_ref());
    SendFailure::new(AttemptFailure::Token, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(body: &str) -> Result<(String, Option<Span>), String> {
        let token = read(StatusCode::OK, Some(body.as_bytes()))?;
        let text = token.authorization.to_str().unwrap().to_owned();
        Ok((text, token.expires_in))
    }

    #[test]
    fn a_token_is_read_as_the_standard_and_its_common_departures_write_it() {
        let hour = Some(Span::from_secs(3600));
        for (rest, expires_in) in [
            (r#""token_type":"Bearer","expires_in":3600"#, hour),
            (r#""token_type":"bearer","expires_in":"3600","scope":"a""#, hour),
            (r#""token_type":"BEARER","expires_in":3600.0"#, hour),
            (r#""token_type":"Bearer""#, None),
            (r#""token_type":"Bearer","expires_in":null"#, None),
            (r#""token_type":"Bearer","expires_in":-5"#, Some(Span::ZERO)),
        ] {
            let body = format!("{{\"access_token\":\"abc\",{rest}}}");
            assert_eq!(issued(&body), Ok(("Bearer abc".into(), expires_in)), "{body}");
        }
    }

    #[test]
    fn a_reply_without_a_token_is_told_without_what_it_holds() {
        for body in [
            "",
            "[]",
            r#"{"access_token":"hunter2"}"#,
            r#"{"access_token":"hunter2","token_type":"mac"}"#,
            r#"{"access_token":"hunter2\r\nhost: b","token_type":"bearer"}"#,
            r#"{"access_token":"","token_type":"bearer"}"#,
            r#"{"access_token":7,"token_type":"hunter2"}"#,
            "<html>hunter2</html>",
        ] {
            let why = issued(body).unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
        let long =
            format!(r#"{{"access_token":"{}","token_type":"bearer"}}"#, "a".repeat(MAX_TOKEN + 1));
        assert!(issued(&long).is_err());
        let told =
            |status, body: &[u8]| read(StatusCode::from_u16(status).unwrap(), Some(body)).err();
        let invalid = br#"{"error":"invalid_client","error_description":"hunter2"}"#;
        assert_eq!(told(401, invalid).as_deref(), Some("it answers 401: invalid_client"));
        assert_eq!(told(400, br#"{"error":"a b<c>"}"#).as_deref(), Some("it answers 400"));
        assert_eq!(told(302, b"").as_deref(), Some("it answers 302"));
        assert!(read(StatusCode::OK, None).is_err());
    }
}
