//! The settings of a proxy: one TOML file of listeners, limits, policies and routes.
//!
//! Every value is checked when the file is read, so that settings which exist are settings which are right. A
//! refusal is one line: file, place, key, value, bound.

mod fault;
mod fleet;
mod headers;
mod limits;
mod otlp;
mod overrides;
mod policy;
mod retry;
mod route;
mod route_defaults;
mod settings;
mod tls;
mod upstream;

pub use fault::SettingsFault;
pub use fleet::FleetSettings;
pub(crate) use headers::secret_text;
pub use headers::{HeaderSource, HeaderValueSource, OWN_HEADERS};
pub use limits::ProxyLimits;
pub use policy::read as read_policy;
pub use retry::{AddedKey, RetryRules};
pub use route::{HostPattern, RouteSettings, RouteTarget, UpstreamProtocol};
pub use settings::ProxySettings;
pub use tls::UpstreamTls;
pub use upstream::{ConnectTarget, UpstreamUrl};
