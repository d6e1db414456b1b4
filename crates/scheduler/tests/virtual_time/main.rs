//! Endpoint queues in virtual time: known failures of other dispatchers, crashes between any two
//! effects, and whole backlogs. The clock is only a number.

mod cases;
mod crashes;
mod fixture;
mod handshake;
mod receiver;
mod retries;
mod scenarios;
mod takeover;
mod witness;
mod world;
