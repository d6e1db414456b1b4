//! The backend at work: what answers an attempt, and when.

mod faults;
mod limiter;
mod shop;
mod station;

pub(crate) use shop::{Handed, REFUSED, Receipt, Shop, answers_at_once};
pub(crate) use station::Job;
