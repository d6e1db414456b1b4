//! The lanes in virtual time: what went wrong elsewhere, crashes between any two effects, and whole
//! backlogs, with a clock that is only a number.

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
