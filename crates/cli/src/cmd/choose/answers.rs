//! The answers, and which of them were given.

use stagger_core::ConfigError;
use stagger_explain::{Answers, QUESTIONS, QuestionKey};

use crate::command_error::CommandError;
use crate::flags::ChooseFlags;

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
