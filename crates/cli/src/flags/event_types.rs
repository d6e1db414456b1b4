//! The flags of `stagger webhooks event-types`: the catalogue of event types.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// A command for the catalogue, which takes the key of an admin or one with the scope of event types.
#[derive(Debug, Subcommand)]
pub(crate) enum EventTypesCommand {
    /// Add an event type
    #[command(
        after_help = "Examples:\n  stagger webhooks event-types create invoice.paid --schema invoice.schema.json"
    )]
    Create(NewEventTypeFlags),
    /// List the event types by name, archived ones too
    #[command(after_help = "Examples:\n  stagger webhooks event-types list --format json")]
    List,
    /// Show an event type with its schema
    #[command(
        after_help = "Examples:\n  stagger webhooks event-types get invoice.paid --format json"
    )]
    Get {
        /// The name
        name: String,
    },
    /// Change what is given, and keep the rest
    #[command(
        after_help = "Examples:\n  stagger webhooks event-types update invoice.paid --description 'An invoice was paid.'"
    )]
    Update(EventTypeUpdateFlags),
    /// Offer an event type no more in forms and in the portal; its messages are accepted
    #[command(after_help = "Examples:\n  stagger webhooks event-types archive invoice.paid")]
    Archive {
        /// The name
        name: String,
    },
    /// Offer an archived event type again
    #[command(after_help = "Examples:\n  stagger webhooks event-types unarchive invoice.paid")]
    Unarchive {
        /// The name
        name: String,
    },
    /// Delete an event type; its messages stay, and so do the endpoints that subscribe to it
    #[command(after_help = "Examples:\n  stagger webhooks event-types delete invoice.paid")]
    Delete {
        /// The name
        name: String,
    },
}

/// The new event type.
#[derive(Debug, Args)]
pub(crate) struct NewEventTypeFlags {
    /// The name, which messages have as their event type
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) given: EventTypeFlags,
}

/// The settings of an event type that are given.
#[derive(Debug, Args)]
pub(crate) struct EventTypeFlags {
    /// The description for people [none]
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// A file with the JSON Schema of the payloads, or - for standard input [none: every payload matches]
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// A file with a payload that matches the schema, as JSON, or - for standard input [none]
    #[arg(long, value_name = "FILE")]
    pub(crate) example: Option<PathBuf>,
}

/// The change of an event type.
#[derive(Debug, Args)]
pub(crate) struct EventTypeUpdateFlags {
    /// The name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) given: EventTypeFlags,
    /// Remove the schema: every payload matches
    #[arg(long, conflicts_with = "schema")]
    pub(crate) no_schema: bool,
    /// Remove the example
    #[arg(long, conflicts_with = "example")]
    pub(crate) no_example: bool,
}
