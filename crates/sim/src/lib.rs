//! The storm lab.
