//! `stagger lint`.

mod command;
mod file_findings;
mod github;
mod json;
mod lint_report;
mod sarif;
mod text;

pub(crate) use command::lint;
