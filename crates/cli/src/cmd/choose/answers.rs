//! The answers, from flags and from a terminal: one question a line on standard error, answers from standard input.

use std::io::{self, BufRead, ErrorKind};

use stagger_core::ConfigError;
use stagger_explain::{Answers, QUESTIONS, Question, QuestionKey};

use crate::command_error::CommandError;
use crate::flags::ChooseFlags;
use crate::render::wrapped;
use crate::streams;

/// The answers about the calls, and which of them were given.
#[derive(Debug)]
pub(super) struct GivenAnswers {
    pub(super) answers: Answers,
    given: Vec<QuestionKey>,
}

impl GivenAnswers {
    /// Takes an answer.
    ///
    /// # Errors
    /// The bound of the answer.
    pub(super) fn set(&mut self, key: QuestionKey, text: &str) -> Result<(), ConfigError> {
        self.answers.set(key, text)?;
        self.given.push(key);
        Ok(())
    }

    pub(super) fn is_given(&self, key: QuestionKey) -> bool {
        self.given.contains(&key)
    }

    /// The answers that were given, and those that were not and still matter, as they are written.
    pub(super) fn lines(&self) -> Vec<String> {
        let list = |given: bool| {
            let of = QUESTIONS.iter().filter(|question| {
                self.is_given(question.key) == given && question.matters(&self.answers)
            });
            let of = of.map(|q| format!("{} = {}", q.key.name(), self.answers.text(q.key)));
            of.collect::<Vec<_>>().join(", ")
        };
        let (given, taken) = (list(true), list(false));
        let lines = [("Answers: ", given), ("Not said, so taken as usual: ", taken)];
        let lines = lines.into_iter().filter(|(_, list)| !list.is_empty());
        lines.map(|(what, list)| format!("{what}{list}")).collect()
    }

    /// The names of the questions without an answer.
    pub(super) fn taken(&self) -> Vec<&'static str> {
        let keys = QUESTIONS.iter().map(|question| question.key);
        keys.filter(|key| !self.is_given(*key)).map(QuestionKey::name).collect()
    }
}

/// The answers among the flags.
///
/// # Errors
/// The first one that is no answer, named by its flag.
pub(super) fn given_answers(flags: &ChooseFlags) -> Result<GivenAnswers, CommandError> {
    let mut said = GivenAnswers { answers: Answers::default(), given: Vec::new() };
    for question in QUESTIONS {
        let Some(text) = flags.given(question.key) else { continue };
        said.set(question.key, text).map_err(|error| {
            let (flag, value) = (format!("--{}", error.field()), error.value().to_string());
            CommandError::invalid(&flag, &value, error.bound())
        })?;
    }
    Ok(said)
}

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
    streams::note("Enter takes the answer in brackets, Ctrl-D ends without a policy.");
    for question in &QUESTIONS {
        while open(answers, question) {
            let answer = answer(question, &answers.answers.text(question.key))?;
            if let Err(error) = answers.set(question.key, &answer) {
                streams::note(&error.to_string());
            }
        }
    }
    Ok(())
}

fn answer(question: &Question, usual: &str) -> Result<String, String> {
    let Question { ask, why, form, .. } = question;
    let width = streams::width(&io::stderr()).unwrap_or(usize::MAX);
    let question = wrapped(&format!("{ask} {form} ({why}) [{usual}]"), width - 1);
    streams::prompt(&format!("{} ", question.join("\n")));
    let mut line = Vec::new();
    match io::stdin().lock().read_until(b'\n', &mut line) {
        Ok(0) => {
            streams::note("");
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
