//! Breakers: whether a destination may be called at all.
