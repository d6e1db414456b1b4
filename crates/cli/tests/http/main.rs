//! `stagger http` as a process, against a server that fails on order.

mod attempts;
mod command;
mod curl;
mod endings;
mod output;
mod refusals;
mod tls;
