//! The servers behind a route: their ledgers, the connections to them, and one attempt on the wire.

mod attempt;
mod attempt_headers;
mod attempt_kind;
mod client_certificate;
mod clients;
mod connector;
mod file_stamp;
mod fleet_ledgers;
mod ledger;
mod ledger_registry;
mod outcome;
mod tls;
mod tls_files;
mod upstream;
mod upstream_client;

pub(crate) use attempt::AttemptService;
pub(crate) use attempt_headers::AttemptHeaderSet;
pub(crate) use attempt_kind::{AttemptKind, GrpcCopies};
pub(crate) use clients::UpstreamClients;
pub(crate) use connector::Dialer;
pub use fleet_ledgers::fleet_ledgers;
pub(crate) use fleet_ledgers::ledgers_of;
pub use ledger::DestinationLedger;
pub(crate) use ledger_registry::LedgerRegistry;
pub use ledger_registry::MakeLedger;
pub(crate) use outcome::{BoxError, UpstreamErrors};
pub(crate) use upstream::{UpstreamServer, snapshot};
