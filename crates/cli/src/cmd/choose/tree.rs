//! The decision tree as a page.

use std::fmt::Write;
use std::io;

use stagger_explain::{Answers, QUESTIONS};

use super::toml::COMMENT;
use crate::render::wrapped;
use crate::width;

/// Every question with its reason, its usual answer, and what each answer leads to.
pub(super) fn page() -> String {
    let mut page = String::new();
    let usual = Answers::default();
    let width = width::of(&io::stdout()).map_or(COMMENT, |width| width - 3);
    for (number, question) in (1..).zip(&QUESTIONS) {
        let (flag, answer) = (question.key.name(), usual.text(question.key));
        let _ = writeln!(page, "{number}. {}  --{flag} [{answer}]", question.ask);
        for line in wrapped(&format!("Asked because {}.", question.why), width) {
            let _ = writeln!(page, "   {line}");
        }
        for (answer, leads) in question.branches {
            let _ = writeln!(page, "     {answer:24} -> {leads}");
        }
        page.push('\n');
    }
    page.push_str(
        "Always: a budget (10 % of first attempts), jitter, a deadline, a limit for each attempt.\n",
    );
    page
}
