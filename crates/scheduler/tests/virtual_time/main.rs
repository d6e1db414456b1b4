//! Endpoint queues in virtual time: known failures of other dispatchers, crashes between any two
//! effects, and whole backlogs. The clock is only a number.

mod cases;
mod crashes;
mod durable;
mod fixture;
mod put_off;
mod receiver;
mod scenarios;
mod takeover;
mod witness;
mod world;
