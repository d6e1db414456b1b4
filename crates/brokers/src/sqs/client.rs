//! Calls of SQS: signed requests of the JSON protocol, and what their errors mean.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use stagger::{ConfigError, Hint, StdTime};
use stagger_scheduler::model::{ApplicationId, AttemptFailure, Endpoint};
use stagger_sender::{GuardedNetwork, HttpAddress, HttpCall, SendFailure, Written};

use super::credentials::AwsCredentials;
use super::signature::{CredentialScope, authorization};

/// Longest reply, in bytes: ten messages of the largest size, with their attributes.
const MAX_REPLY: usize = 16 << 20;
const JSON: &str = "application/x-amz-json-1.0";

/// The queue at one URL, and the credentials for it.
#[derive(Debug)]
pub(super) struct Queue {
    /// The URL, as requests name it.
    pub(super) url: String,
    address: HttpAddress,
    region: String,
    credentials: AwsCredentials,
}

/// The reply of a call.
#[derive(Debug)]
pub(super) struct QueueReply {
    pub(super) status: u16,
    /// The error in words, with its code.
    pub(super) detail: Option<String>,
    pub(super) hint: Option<Hint>,
    pub(super) body: Bytes,
}

impl Queue {
    /// # Errors
    /// `endpoint.url` or `destination.region` with the bound it breaks.
    pub(super) fn new(
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        region: &str,
        credentials: AwsCredentials,
    ) -> Result<Self, ConfigError> {
        let is_region = (1..=64).contains(&region.len())
            && region
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
        if !is_region {
            return Err(ConfigError::new(
                "destination.region",
                region,
                "a region such as eu-central-1",
            ));
        }
        let address = network.http_address(endpoint)?;
        let path = address.path();
        if !path.bytes().all(|it| it.is_ascii_graphic())
            || path.split('/').filter(|it| !it.is_empty()).count() < 2
        {
            let bound = "the URL of a queue, such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders";
            return Err(ConfigError::new("endpoint.url", &endpoint.url, bound));
        }
        Ok(Self {
            url: endpoint.url.clone(),
            address: address.at_root(),
            region: region.to_owned(),
            credentials,
        })
    }

    /// Calls an action. The reply of a request that was refused is one, too.
    ///
    /// # Errors
    /// There is no reply.
    pub(super) async fn call(
        &self,
        network: &GuardedNetwork,
        of: ApplicationId,
        (action, body): (&str, &Value),
        written: &Written,
    ) -> Result<QueueReply, SendFailure> {
        let body = Bytes::from(body.to_string());
        let headers = self.headers(action, &body)?;
        let call = HttpCall { headers, body, max_reply: MAX_REPLY };
        let reply = network.call(&self.address, of, &call, written).await?;
        let body = reply.body.ok_or_else(|| {
            SendFailure::new(AttemptFailure::Transport, "the reply breaks off, or is too long")
        })?;
        if reply.status.is_success() {
            return Ok(QueueReply { status: 200, detail: None, hint: None, body });
        }
        let (code, message) = read_error(&body);
        if code.ends_with("InvalidMessageContents") {
            let detail = "the queue takes only text with the characters of XML";
            return Err(SendFailure::new(AttemptFailure::Unbuildable, detail));
        }
        let detail = Some(format!("{code}: {message}"));
        let status = status_of(&code, reply.status.as_u16());
        Ok(QueueReply { status, detail, hint: reply.hint, body })
    }

    fn headers(&self, action: &str, body: &[u8]) -> Result<HeaderMap, SendFailure> {
        let identity = self.credentials.current()?;
        let target = format!("AmazonSQS.{action}");
        let time = time(
            StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs(),
        );
        let host = self.address.host().to_str().unwrap_or_default();
        let token = identity.session_token.as_ref().map(|token| token.reveal());
        let mut signed =
            vec![("content-type", JSON), ("host", host), ("x-amz-date", time.as_str())];
        signed.extend(token.map(|token| ("x-amz-security-token", token)));
        signed.push(("x-amz-target", target.as_str()));
        let scope = CredentialScope { region: &self.region, service: "sqs" };
        let authorization = authorization(&identity, scope, &time, (&signed, body));
        let all = signed.into_iter().chain([("authorization", authorization.as_str())]);
        let mut headers = HeaderMap::new();
        for (name, value) in all.filter(|(name, _)| *name != "host") {
            let value = HeaderValue::from_str(value).map_err(|_| {
                SendFailure::new(AttemptFailure::Unbuildable, format!("{name} cannot be sent"))
            })?;
            headers.insert(
                HeaderName::from_bytes(name.as_bytes()).expect("a name of this file"),
                value,
            );
        }
        Ok(headers)
    }
}

/// The code and the words of an error: JSON, or XML of the part that checks signatures.
fn read_error(body: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(body);
    let Ok(error) = serde_json::from_str::<Value>(&text) else {
        let within = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
        };
        return (within("Code").unwrap_or_default(), within("Message").unwrap_or_default());
    };
    let member = |name: &str| error[name].as_str().map(str::to_owned);
    let code = member("__type").unwrap_or_default();
    let message = member("message").or_else(|| member("Message")).unwrap_or_default();
    (code.rsplit('#').next().unwrap_or_default().to_owned(), message)
}

/// The status that decides what follows: AWS answers most errors with 400.
fn status_of(code: &str, status: u16) -> u16 {
    match code {
        "RequestThrottled" | "ThrottlingException" | "OverLimit" | "KmsThrottled" => 429,
        "QueueDoesNotExist" => 404,
        "AccessDeniedException" | "AccessDenied" => 403,
        "ExpiredToken"
        | "ExpiredTokenException"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException" => 401,
        _ if status == 410 => 400,
        _ => status,
    }
}

/// Seconds since the Unix epoch as `20150830T123600Z`; the days by the algorithm of Howard Hinnant.
fn time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let day = day - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn an_error_of_the_queue_has_the_status_that_decides() {
        assert_eq!(status_of("ExpiredTokenException", 400), 401);
        assert_eq!(status_of("RequestThrottled", 400), 429);
        assert_eq!((status_of("", 503), status_of("", 410)), (503, 400));
    }
}
