//! `zero-base`: retries that follow at once.

use stagger_core::Policy;

use super::delays::{Delays, retries, retrying};
use crate::{Code, Finding, Setting};

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<Finding>) {
    if !retrying(policy) {
        return;
    }
    for delays in Delays::of(policy).filter(|delays| delays.rule.base().is_zero()) {
        let retries = match retries(policy, u32::MAX) {
            1 => "its retry follows".to_owned(),
            retries => format!("its {retries} retries follow"),
        };
        found.push(Finding::error(
            Code::ZeroBase,
            delays.base,
            format!("a base of 0s makes every ceiling 0s: {retries} at once"),
            "base = \"100ms\", or at least the time that one attempt takes",
        ));
    }
}
