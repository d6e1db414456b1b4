//! The flags of `stagger webhooks` and `stagger listen`: clients of a running dispatcher.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stagger_core::Span;

use super::event_types::EventTypesCommand;
use super::exec::time;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger webhooks create application shop      its id and its key, shown once
  stagger webhooks create endpoint https://example.com/hooks --events invoice.paid
  stagger webhooks create message invoice.paid --payload '{\"amount\":10}'
  stagger webhooks list deliveries --state dead
  stagger webhooks tail --for 2s                each change of a delivery, as it happens
  stagger webhooks replay --state dead --since 2026-11-28T06:00:00Z
  stagger webhooks export --output shop.jsonl   all messages with their deliveries and attempts
  stagger webhooks keys create billing --scope messages:write
  stagger webhooks event-types create invoice.paid --schema invoice.schema.json

The key comes from the file of --key-file, from the variable STAGGER_KEY, or from
stagger-data/admin.key. The variables STAGGER_URL and STAGGER_APP stand for --url and --app.

Exit codes:
  0 done    1 no answer, or the dispatcher is not able to now    2 wrong flags, or refused";

/// The end of the help of `stagger listen`.
pub(super) const LISTEN_EXAMPLES: &str = "\
Examples:
  stagger listen 9000                           to http://127.0.0.1:9000/
  stagger listen http://127.0.0.1:9000/hooks --events invoice.paid
  stagger listen 9000 --count 1                 end after the first delivery
  stagger listen 9000 --replay msg_0190163d8694739b84f6b0d3ccc3a5a1
                                                send this message once, and end

While it runs, Enter sends the last message again, and the id of a message and Enter that one.
Ctrl-C removes its endpoint. The dispatcher has to reach this machine by 127.0.0.1: stagger serve
--allow-private.";

/// A client of a dispatcher's API.
#[derive(Debug, Args)]
pub(crate) struct WebhooksFlags {
    #[command(subcommand)]
    pub(crate) command: WebhooksCommand,

    #[command(flatten)]
    pub(crate) api: ApiFlags,
}

/// The dispatcher, the key, and the form of what is printed.
#[derive(Debug, Args)]
pub(crate) struct ApiFlags {
    /// The address of the dispatcher [http://127.0.0.1:8080]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) url: Option<String>,

    /// A file with the key, of an application or of an operator [stagger-data/admin.key]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) key_file: Option<PathBuf>,

    /// The id of the application; not needed where there is only one
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) app: Option<String>,

    /// Lines for people, or the JSON of the API: a value a line
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: WebhooksFormat,
}

/// The form of what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WebhooksFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Make an application, an endpoint or a message
    #[command(
        after_help = "Examples:\n  stagger webhooks create application books --settings '{\"slots\":64}'"
    )]
    Create(CreateFlags),
    /// List applications, endpoints, messages or deliveries, newest messages first
    #[command(
        after_help = "Examples:\n  stagger webhooks list messages --event-type invoice.paid --limit 10"
    )]
    List(ListFlags),
    /// Show an application, an endpoint, or a message with its deliveries, by its id
    #[command(
        after_help = "Examples:\n  stagger webhooks get msg_0190163d8694739b84f6b0d3ccc3a5a1 --format json"
    )]
    Get {
        /// The id: app_..., ep_... or msg_...
        id: String,
    },
    /// Print each change of a delivery of the messages that come from now on, until Ctrl-C
    #[command(after_help = "Examples:\n  stagger webhooks tail --format json --for 1s")]
    Tail {
        /// The time after which it ends [at Ctrl-C]
        #[arg(long = "for", value_name = "TIME", value_parser = time)]
        time: Option<Span>,
    },
    /// Write the messages of the application with payloads, deliveries and attempts, newest first, as lines of JSON
    #[command(
        after_help = "Examples:\n  stagger webhooks export --since 2026-11-28T06:00:00Z --output shop.jsonl"
    )]
    Export(MessageExportFlags),
    /// Send finished deliveries again: one, those of a message or of an endpoint, or of the application
    #[command(
        after_help = "Examples:\n  stagger webhooks replay msg_0190163d8694739b84f6b0d3ccc3a5a1 --state delivered"
    )]
    Replay {
        /// The id of a message, of an endpoint, or of both
        #[arg(value_name = "ID", num_args = 0..=2)]
        ids: Vec<String>,
        #[command(flatten)]
        filter: DeliveryFilterFlags,
    },
    /// Make, list and delete API keys: each has a name, and may do what its scopes allow
    #[command(
        after_help = "Examples:\n  stagger webhooks keys create billing --scope messages:write\n  stagger webhooks keys list"
    )]
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Make, list, change and delete the event types of the catalogue, each with a JSON Schema of its payloads
    #[command(
        after_help = "Examples:\n  stagger webhooks event-types create invoice.paid --schema invoice.schema.json\n  stagger webhooks event-types list"
    )]
    EventTypes {
        #[command(subcommand)]
        command: EventTypesCommand,
    },
}

/// A command for API keys, which takes the key of an admin.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, and print it once
    #[command(
        after_help = "Examples:\n  stagger webhooks keys create dashboard --scope messages:read,endpoints:read"
    )]
    Create(NewKeyFlags),
    /// List the keys, the oldest first
    #[command(after_help = "Examples:\n  stagger webhooks keys list --format json")]
    List,
    /// Delete a key: it is refused from now on
    #[command(
        after_help = "Examples:\n  stagger webhooks keys delete key_0190163d8694739b84f6b0d3ccc3a5a1"
    )]
    Delete {
        /// The id: key_...
        id: String,
    },
}

/// The new API key.
#[derive(Debug, Args)]
pub(crate) struct NewKeyFlags {
    /// The name, for people and for the audit log
    pub(crate) name: String,
    /// The permissions of the key, with commas between them: admin, or some of applications:read,
    /// applications:write, audit:read, deliveries:write, endpoints:read, endpoints:write, event_types:read, event_types:write,
    /// messages:read and messages:write
    #[arg(long = "scope", value_name = "SCOPES", value_delimiter = ',', required = true)]
    pub(crate) scopes: Vec<String>,
    /// The only application whose data the key gives access to [all]
    #[arg(long, value_name = "ID")]
    pub(crate) only_app: Option<String>,
    /// The time from which the key is refused, such as 2027-01-01T00:00:00Z [never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
}

/// The messages to export.
#[derive(Debug, Args)]
pub(crate) struct MessageExportFlags {
    /// Only messages accepted at or after this, such as 2026-11-28T06:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only messages accepted before this
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// The file to write; an export that was interrupted goes on in it [standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The new thing.
#[derive(Debug, Args)]
pub(crate) struct CreateFlags {
    /// The kind
    #[arg(value_enum)]
    pub(crate) kind: NewKind,
    /// The name of the application, the URL of the endpoint, or the event type of the message
    pub(crate) value: String,
    /// The event types that the endpoint gets, with commas between them [all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) events: Vec<String>,
    /// The payload of the message: JSON, @FILE, or @- for standard input [{}]
    #[arg(long, value_name = "JSON")]
    pub(crate) payload: Option<String>,
    /// The sender's own name for the message: the same key again is the same message [made]
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// More settings of the application or the endpoint: a JSON object, as the API takes it
    #[arg(long, value_name = "JSON")]
    pub(crate) settings: Option<String>,
}

/// A kind of thing that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewKind {
    Application,
    Endpoint,
    Message,
}

/// A list.
#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// The kind
    #[arg(value_enum)]
    pub(crate) kind: ListKind,
    /// The most entries
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) filter: DeliveryFilterFlags,
}

/// A kind of thing that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Applications,
    Endpoints,
    Messages,
    Deliveries,
}

/// The deliveries that pass.
#[derive(Debug, Default, Args)]
pub(crate) struct DeliveryFilterFlags {
    /// Only in this state: pending, waiting, delivered, dead or cancelled
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only to the endpoint of this id
    #[arg(long, value_name = "ID")]
    pub(crate) endpoint: Option<String>,
    /// Only messages of this type
    #[arg(long, value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Only messages accepted at or after this, such as 2026-11-28T06:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only messages accepted before this
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

/// The flags of `stagger listen`.
#[derive(Debug, Args)]
pub(crate) struct ListenFlags {
    /// The port or the URL of a server on this machine, which gets each delivery
    #[arg(value_name = "PORT|URL")]
    pub(crate) target: String,

    #[command(flatten)]
    pub(crate) api: ApiFlags,

    /// The event types to get, with commas between them [all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) events: Vec<String>,

    /// End after so many deliveries
    #[arg(long, value_name = "COUNT", conflicts_with = "replay")]
    pub(crate) count: Option<u64>,

    /// Send the message of this id to the server once, signed with a key of this run, and end
    #[arg(long, value_name = "ID")]
    pub(crate) replay: Option<String>,
}
