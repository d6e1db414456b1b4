//! The stagger binary.
fn main() {}
