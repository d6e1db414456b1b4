//! Commands to leaders, in the memory store.

use std::collections::BTreeMap;

use crate::model::EndpointId;
use crate::store::{EndpointCommand, ShardId, Shards};

/// The open commands; those of deleted endpoints are removed with them.
#[derive(Debug, Default)]
pub(super) struct Commands {
    given: u64,
    rows: BTreeMap<u64, (EndpointId, EndpointCommand)>,
}

impl Commands {
    pub(super) fn add(&mut self, endpoint: EndpointId, command: EndpointCommand) -> u64 {
        self.given += 1;
        self.rows.insert(self.given, (endpoint, command));
        self.given
    }

    pub(super) fn of(&self, shards: Shards) -> Vec<(u64, EndpointId, EndpointCommand)> {
        let wanted = |(_, (to, _)): &(&u64, &(EndpointId, EndpointCommand))| {
            shards.contains(ShardId::of(*to))
        };
        let found = self.rows.iter().filter(wanted);
        found.map(|(number, (endpoint, command))| (*number, *endpoint, *command)).collect()
    }

    pub(super) fn complete_commands(&mut self, commands: &[u64]) {
        commands.iter().for_each(|number| {
            self.rows.remove(number);
        });
    }

    pub(super) fn is_command_done(&self, command: u64) -> bool {
        !self.rows.contains_key(&command)
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(EndpointId) -> bool) {
        self.rows.retain(|_, (endpoint, _)| is_there(*endpoint));
    }
}
