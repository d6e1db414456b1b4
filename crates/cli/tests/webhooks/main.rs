//! `stagger webhooks` and `stagger listen` against a dispatcher of the test's own.

mod command;
mod listen;
mod serving;
