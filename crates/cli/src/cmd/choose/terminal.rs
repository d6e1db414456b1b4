//! The questions on a terminal: one a line on standard error, answers from standard input.

use std::io::{self, BufRead, ErrorKind};

use stagger_explain::{QUESTIONS, Question};

use super::answers::GivenAnswers;
use crate::render::wrapped;
use crate::{stderr, terminal};

/// Asks what no flag has said and still matters. A wrong answer is asked again.
///
/// # Errors
/// The end of the input, or why it cannot be read: then there is no policy.
pub(super) fn ask(answers: &mut GivenAnswers) -> Result<(), String> {
    let open = |answers: &GivenAnswers, q: &Question| {
        !answers.is_given(q.key) && q.matters(&answers.answers)
    };
    if !QUESTIONS.iter().any(|question| open(answers, question)) {
        return Ok(());
    }
    stderr::note("Enter takes the answer in brackets, Ctrl-D ends without a policy.");
    for question in &QUESTIONS {
        while open(answers, question) {
            let answer = answer(question, &answers.answers.text(question.key))?;
            if let Err(error) = answers.set(question.key, &answer) {
                stderr::note(&error.to_string());
            }
        }
    }
    Ok(())
}

fn answer(question: &Question, usual: &str) -> Result<String, String> {
    let Question { ask, why, form, .. } = question;
    let width = terminal::width(&io::stderr()).unwrap_or(usize::MAX);
    let question = wrapped(&format!("{ask} {form} ({why}) [{usual}]"), width - 1);
    stderr::prompt(&format!("{} ", question.join("\n")));
    let mut line = Vec::new();
    match io::stdin().lock().read_until(b'\n', &mut line) {
        Ok(0) => {
            stderr::note("");
            Err("the questions ended without an answer, so there is no policy".to_owned())
        }
        Ok(_) => {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim();
            Ok(if text.is_empty() { usual.to_owned() } else { text.to_owned() })
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(String::new()),
        Err(error) => Err(format!("cannot read from the terminal: {error}")),
    }
}
