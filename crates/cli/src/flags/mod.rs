//! The command line: every flag with its default, range and reason.

mod command;
mod completions;
mod dispatcher;
mod event_types;
#[cfg(test)]
mod examples_test;
mod exec;
mod http;
mod load;
mod new_policies;
mod operator;
mod policies;
mod proxy;
mod replay;
mod storm;
mod tune;
mod watch;
mod webhooks;

pub(crate) use command::{Command, DemoFlags, Flags};
pub(crate) use completions::{CompletedShell, CompletionsFlags, ManFlags, preset};
pub(crate) use dispatcher::{ServeFlags, StoreCommand, StoreFlags};
pub(crate) use event_types::{
    EventTypeFlags, EventTypeUpdateFlags, EventTypesCommand, NewEventTypeFlags,
};
pub(crate) use exec::{Attempts, ExecFlags, PolicyFlags, StdinMode};
pub(crate) use http::{ContinueAt, HttpFlags, HttpFormat, Statuses};
pub(crate) use new_policies::{
    ChooseFlags, ChooseFormat, ExportFlags, ImportFlags, ImportFormat, ImportTarget,
};
pub(crate) use operator::{OperatorCommand, OperatorFlags};
pub(crate) use policies::{CallsFlags, Deny, ExplainFlags, ExplainFormat, LintFlags, LintFormat};
pub(crate) use proxy::ProxyFlags;
pub(crate) use storm::{StormFlags, StormFormat};
pub(crate) use tune::{TuneFlags, TuneFormat};
pub(crate) use watch::{WatchFlags, WatchFormat};
pub(crate) use webhooks::{
    ApiFlags, CreateFlags, DeliveryFilterFlags, KeysCommand, ListFlags, ListKind, ListenFlags,
    MessageExportFlags, NewKeyFlags, NewKind, WebhooksCommand, WebhooksFlags, WebhooksFormat,
};
