//! Hedging: when to launch a second copy of a call.
