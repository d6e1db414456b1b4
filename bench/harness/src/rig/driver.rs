//! Calls of the API: applications, endpoints, messages, lists.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::connection::{Connection, HttpRequest};
use super::process::ADMIN_KEY;
use super::receiver::Marker;

/// Items of a page: as many as the API gives.
const PAGE: usize = 250;

/// The longest time for a node to learn of a change made at another, and the interval between
/// checks.
const NEWS_LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// The API at one address, for one application.
#[derive(Debug)]
pub(crate) struct Driver {
    connection: Connection,
    application: String,
}

impl Driver {
    /// Makes an application.
    pub(crate) async fn new(addr: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let mut driver = Self::resume(addr, String::new()).await?;
        let made = driver.call("POST", "/v1/applications", &json!({ "name": "load" })).await?;
        made["id"].as_str().unwrap_or_default().clone_into(&mut driver.application);
        Ok(driver)
    }

    /// Goes on with an application at a new address.
    pub(crate) async fn resume(
        addr: SocketAddr,
        application: String,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self { connection: Connection::open(addr).await?, application })
    }

    pub(crate) fn application(&self) -> &str {
        &self.application
    }

    /// Makes an endpoint with these settings; answers its id.
    pub(crate) async fn endpoint(&mut self, settings: &Value) -> Result<String, Box<dyn Error>> {
        let path = format!("/v1/applications/{}/endpoints", self.application);
        let made = self.call("POST", &path, settings).await?;
        Ok(made["id"].as_str().ok_or("an endpoint without an id")?.to_owned())
    }

    /// All deliveries in this state, as (message, endpoint).
    pub(crate) async fn deliveries(
        &mut self,
        state: &str,
    ) -> Result<Vec<(String, String)>, Box<dyn Error>> {
        let base =
            format!("/v1/applications/{}/deliveries?limit={PAGE}&state={state}", self.application);
        let (mut found, mut path) = (Vec::new(), base.clone());
        loop {
            let page = self.call("GET", &path, &Value::Null).await?;
            let items = page["items"].as_array().ok_or("a page without items")?;
            let text = |item: &Value, name: &str| item[name].as_str().map(str::to_owned);
            found.extend(items.iter().filter_map(|i| text(i, "message").zip(text(i, "endpoint"))));
            let Some(cursor) = page["next"].as_str() else { return Ok(found) };
            path = format!("{base}&cursor={cursor}");
        }
    }

    /// Whether deliveries are left that are not finished.
    pub(crate) async fn is_open(&mut self) -> Result<bool, Box<dyn Error>> {
        for state in ["pending", "waiting"] {
            let path =
                format!("/v1/applications/{}/deliveries?limit=1&state={state}", self.application);
            let page = self.call("GET", &path, &Value::Null).await?;
            if page["items"].as_array().is_none_or(|items| !items.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The status of an endpoint, as its leader reports it.
    pub(crate) async fn standing(&mut self, endpoint: &str) -> Result<String, Box<dyn Error>> {
        let path = format!("/v1/applications/{}/endpoints/{endpoint}", self.application);
        Ok(self.call("GET", &path, &Value::Null).await?["status"].to_string())
    }

    /// The one word for the state of an endpoint.
    pub(crate) async fn state(&mut self, endpoint: &str) -> Result<String, Box<dyn Error>> {
        let path = format!("/v1/applications/{}/endpoints/{endpoint}", self.application);
        let shown = self.call("GET", &path, &Value::Null).await?;
        Ok(shown["status"]["state"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a node has heard of the application and so many endpoints of it.
    pub(crate) async fn wait_for_news(
        addr: SocketAddr,
        application: &str,
        endpoints: usize,
    ) -> Result<(), Box<dyn Error>> {
        let mut driver = Self::resume(addr, application.to_owned()).await?;
        let until = Instant::now() + NEWS_LIMIT;
        while driver.endpoints().await? < endpoints {
            if Instant::now() > until {
                let limit = format!("{addr} knows fewer than {endpoints} endpoints");
                return Err(format!("{limit} after {NEWS_LIMIT:?}").into());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// The number of endpoints of the application that the node knows, of a page at most; none if
    /// it does not know the application.
    async fn endpoints(&mut self) -> Result<usize, Box<dyn Error>> {
        let path = format!("/v1/applications/{}/endpoints?limit={PAGE}", self.application);
        let request = HttpRequest::new("GET", &path, ADMIN_KEY, &[], "");
        let answer = self.connection.send(&request).await?;
        if answer.status == 404 {
            return Ok(0);
        }
        let page: Value = serde_json::from_slice(answer.body)?;
        Ok(page["items"].as_array().map_or(0, Vec::len))
    }

    /// Disables an endpoint by its id: its deliveries wait.
    pub(crate) async fn disable(&mut self, endpoint: &str) -> Result<(), Box<dyn Error>> {
        let application = self.application.clone();
        let path = format!("/v1/applications/{application}/endpoints/{endpoint}/disable");
        self.call("POST", &path, &Value::Null).await.map(drop)
    }

    /// Sends so many small messages of one type, all or none.
    pub(crate) async fn batch(&mut self, event: &str, count: usize) -> Result<(), Box<dyn Error>> {
        let one = json!({ "event_type": event, "payload": { "small": true } });
        let path = format!("/v1/applications/{}/messages/batch", self.application);
        let batch = json!({ "messages": vec![one; count] });
        self.call("POST", &path, &batch).await.map(drop)
    }

    async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Box<dyn Error>> {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = HttpRequest::new(method, path, ADMIN_KEY, &[], &text);
        let answer = self.connection.send(&request).await?;
        if !(200..300).contains(&answer.status) {
            let body = String::from_utf8_lossy(answer.body);
            return Err(format!("{method} {path}: {} {body}", answer.status).into());
        }
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_slice(answer.body)?)
    }
}

/// The post of one message of this type to an application, under a key of its own if it has one.
pub(crate) fn message(
    application: &str,
    event_type: &str,
    marker: Marker,
    size: usize,
    key: Option<&str>,
) -> HttpRequest {
    let path = format!("/v1/applications/{application}/messages");
    let payload = marker.payload(size);
    let body = format!(r#"{{"event_type":"{event_type}","payload":{payload}}}"#);
    let headers: Vec<(&str, &str)> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
    HttpRequest::new("POST", &path, ADMIN_KEY, &headers, &body)
}
