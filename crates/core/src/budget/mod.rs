//! Budgets: how many retries a destination may get.
