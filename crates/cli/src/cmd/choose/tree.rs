//! The decision tree as a page.

use std::fmt::Write;

use stagger_explain::{Answers, QUESTIONS};

use crate::render::hanging;
use crate::width;

/// The column of an answer's consequence.
const LEADS: usize = 33;
const ALWAYS: &str =
    "Always: a budget (10 % of first attempts), jitter, a deadline, a limit for each attempt.";

/// Every question with its reason, its usual answer, and what each answer leads to.
pub(super) fn page() -> String {
    let mut page = String::new();
    let usual = Answers::default();
    let width = width::of_page();
    for (number, question) in (1..).zip(&QUESTIONS) {
        let (flag, answer) = (question.key.name(), usual.text(question.key));
        let asked = format!("{number}. {}  --{flag} [{answer}]", question.ask);
        let _ = writeln!(page, "{}", hanging(&asked, width, 3));
        let why = format!("Asked because {}.", question.why);
        let _ = writeln!(page, "   {}", hanging(&why, width, 3));
        for (answer, leads) in question.branches {
            let _ = writeln!(page, "     {answer:24} -> {}", hanging(leads, width, LEADS));
        }
        page.push('\n');
    }
    page + &hanging(ALWAYS, width, 0) + "\n"
}
