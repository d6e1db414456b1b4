//! Adaptive limits that also cover first attempts: client-side throttling and CUBIC.
