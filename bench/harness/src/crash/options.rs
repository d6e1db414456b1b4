//! The flags of the crash test.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;

use super::trouble::Trouble;
use crate::rig::StoreKind;
use xtask_workbench::Format;

/// The number of troubles, and the format of the result.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// Troubles, one after the other.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) rounds: u32,
    /// The same seed makes the same troubles after the same times, and has the same endpoints fail.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The store that it works on.
    #[arg(long, value_enum, default_value_t)]
    pub(super) store: StoreKind,
    /// Nodes on that store; more than one needs postgres.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(super) nodes: u8,
    /// A Redis in which the nodes keep their budgets of retries, as `--redis` of the dispatcher.
    #[arg(long, value_name = "URL")]
    pub(super) redis: Option<String>,
    /// Troubles to make, each once before any is repeated [default: kill for one node, else all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TROUBLES")]
    troubles: Vec<Trouble>,
    /// The binary to test, instead of building one.
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
    /// Folder for the logs of each node's lives.
    #[arg(long, value_name = "FOLDER")]
    pub(super) logs: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Crash {
    /// The troubles of the nodes.
    pub(super) fn troubles(&self) -> Vec<Trouble> {
        match self.nodes {
            _ if !self.troubles.is_empty() => self.troubles.clone(),
            1 => vec![Trouble::Kill],
            _ => Trouble::ALL.to_vec(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Box<dyn Error>> {
        if self.store == StoreKind::Postgres {
            return Ok(());
        }
        let needs = "needs --store postgres";
        if self.nodes > 1 {
            return Err(format!("--nodes {}: more than 1 {needs}", self.nodes).into());
        }
        match self.troubles.iter().find(|trouble| trouble.is_of_the_database()) {
            Some(trouble) => Err(format!("--troubles {}: {needs}", trouble.name()).into()),
            None => Ok(()),
        }
    }
}
