//! The layouts: how people put calls together.

use std::error::Error;
use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use super::caller::{LayoutCaller, policy};
use super::upstream::Upstream;
use super::{axum, closures, redis, reqwest, tonic, tower};

/// A layout of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(in crate::bench) enum Layout {
    /// A closure under a time limit for each attempt.
    Plain,
    /// The same, with the policy's deadline for the call.
    PolicyDeadline,
    /// The same, inside `tokio::time::timeout`.
    TokioTimeout,
    /// tower's layer, inside tower's `Timeout`.
    TowerTimeout,
    /// A handler of axum, whose client closes its connection.
    AxumDisconnect,
    /// A task that its owner aborts.
    Cancel,
    /// A second copy of a slow attempt.
    Hedged,
    /// Several items in one request.
    Batch,
    /// The HTTP layer over hyper, and a port on which nothing listens.
    RefusedPort,
    /// The layer for tonic's channels.
    Tonic,
    /// The client for reqwest.
    Reqwest,
    /// Four processes with one budget in Redis.
    SharedRedis,
}

impl Layout {
    /// A caller in this layout, whose attempts arrive at `upstream`.
    pub(super) async fn caller(self, upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
        match self {
            Self::Plain => Ok(closures::plain(upstream, policy())?),
            Self::PolicyDeadline => Ok(closures::policy_deadline(upstream)?),
            Self::TokioTimeout => Ok(closures::tokio_timeout(upstream)?),
            Self::TowerTimeout => tower::tower_timeout(upstream),
            Self::AxumDisconnect => axum::axum_disconnect(upstream),
            Self::Cancel => Ok(closures::cancel(upstream)?),
            Self::Hedged => Ok(closures::hedged(upstream)?),
            Self::Batch => Ok(closures::batch(upstream)?),
            Self::RefusedPort => tower::refused_port(upstream),
            Self::Tonic => tonic::tonic(upstream),
            Self::Reqwest => reqwest::reqwest(upstream),
            Self::SharedRedis => redis::shared_redis(upstream).await,
        }
    }
}

/// The name by which `--layouts` and the JSON know it.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
