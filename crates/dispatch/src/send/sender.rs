//! Makes attempts.

use bytes::Bytes;

use crate::Error;
use crate::model::{Answer, Endpoint, HeaderTemplate, Message};

/// What may be reached, and how.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Whether loopback and private addresses may be reached, for tests. Link-local ones never.
    pub allow_private: bool,
    /// Ports that may be reached; all of them if empty and `allow_private`, else 80, 443 and 8443.
    pub ports: Vec<u16>,
    /// Certificates (PEM) to trust besides the usual ones.
    pub roots: Vec<u8>,
}

/// Makes attempts over pooled connections, through the egress guard. Clones share the pool.
#[derive(Clone, Debug)]
pub struct Sender {}

impl Sender {
    /// A sender with an empty pool.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub fn new(options: SendOptions) -> Result<Self, Error> {
        let _ = options;
        unimplemented!()
    }

    /// Checks an endpoint's address before it is saved: scheme, host, port, no user info, and a literal
    /// address that the egress guard would refuse. Names are resolved at each attempt.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub fn check_url(&self, url: &str) -> Result<(), Error> {
        let _ = url;
        unimplemented!()
    }

    /// Checks a header before it is saved.
    ///
    /// # Errors
    /// `endpoint.headers` with the bound it breaks.
    pub fn check_header(&self, header: &HeaderTemplate) -> Result<(), Error> {
        let _ = header;
        unimplemented!()
    }

    /// Makes one attempt: never longer than the endpoint's timeout, never an error; whatever happens
    /// is in the answer. Dropping the future ends the attempt.
    pub async fn send(
        &self,
        endpoint: &Endpoint,
        message: &Message,
        payload: Bytes,
        number: u32,
    ) -> Answer {
        let _ = (endpoint, message, payload, number);
        unimplemented!()
    }
}
