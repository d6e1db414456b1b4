//! A decision tree: what is known about some calls in, a policy and the reason for each line of it out.

mod answer;
mod answers;
mod attempts;
mod breaker;
mod budget;
mod choice;
mod delays;
mod draft;
mod hints;
mod question;
mod times;

pub use answers::{Answers, Repeat};
pub use choice::{Choice, choose};
pub use draft::LineReason;
pub use question::{QUESTIONS, Question, QuestionKey};
