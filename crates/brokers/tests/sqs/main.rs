//! SQS as a destination and as a source, against a real emulator: moto, of the folder that `STAGGER_TEST_CLIENTS` names. It
//! checks every signature. Without it the tests are skipped with a note.
#![cfg(feature = "sqs")]

mod destination;
mod emulator;
#[path = "../shared/mod.rs"]
mod shared;
mod source;
