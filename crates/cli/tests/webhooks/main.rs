//! `stagger webhooks` and `stagger listen` against a dispatcher of the test's own.

mod command;
mod export;
mod listen;
mod serving;
