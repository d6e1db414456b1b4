//! A decision tree: what is known about some calls in, a policy and the reason for each line of it out.

mod answers;
mod attempts;
mod budget;
mod choice;
mod delays;
mod question;

pub use answers::{Answers, QuestionKey, Repeat};
pub use choice::{Choice, LineReason, choose};
pub use question::{QUESTIONS, Question};
