//! `stagger webhooks` and `stagger listen` against a dispatcher of the test's own.

mod command;
mod event_types;
mod export;
mod keys;
mod listen;
mod serving;
