//! The behaviour of an endpoint's server.

use stagger_core::{Entropy, Hint, Span};
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure};
use stagger_testkit::Mix;

use crate::fixture::answer;

/// The mood of a server; each lasts until the world changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Well,
    Down,
    Flaky,
    Throttling,
    Hanging,
    Gone,
    Refusing,
    Odd,
}

impl Behaviour {
    pub(crate) const ALL: [Self; 8] = [
        Self::Well,
        Self::Down,
        Self::Flaky,
        Self::Throttling,
        Self::Hanging,
        Self::Gone,
        Self::Refusing,
        Self::Odd,
    ];

    /// The answer to an attempt that may take `timeout`.
    pub(crate) fn answer(self, chance: &mut Mix, timeout: Span) -> AttemptAnswer {
        let latency = chance.draw(Span::from_millis(1), Span::from_millis(400));
        let pick = chance.next_u64() % 100;
        let plain = AttemptAnswer { latency, ..answer(Ok(200)) };
        match self {
            Self::Well => plain,
            Self::Down => AttemptAnswer { result: Err(AttemptFailure::Connect), ..plain },
            Self::Flaky if pick < 50 => AttemptAnswer { result: Ok(500), ..plain },
            Self::Flaky => plain,
            Self::Throttling if pick < 90 => {
                let result = Ok(if pick.is_multiple_of(2) { 429 } else { 503 });
                let hint = chance.draw(Span::ZERO, Span::from_secs(40));
                let hint = (!pick.is_multiple_of(3)).then_some(Hint::AtLeast(hint));
                AttemptAnswer { result, hint, ..plain }
            }
            Self::Throttling => plain,
            Self::Hanging => {
                AttemptAnswer { result: Err(AttemptFailure::Timeout), latency: timeout, ..plain }
            }
            Self::Gone if pick < 20 => AttemptAnswer { result: Ok(410), ..plain },
            Self::Gone => plain,
            Self::Refusing if pick < 30 => AttemptAnswer { result: Ok(422), ..plain },
            Self::Refusing if pick < 60 => AttemptAnswer { result: Ok(404), ..plain },
            Self::Refusing => plain,
            Self::Odd => odd(chance, plain),
        }
    }
}

fn odd(chance: &mut Mix, plain: AttemptAnswer) -> AttemptAnswer {
    let pick = usize::try_from(chance.next_u64() % 8).expect("below 8");
    let failure = AttemptFailure::ALL[pick];
    match chance.next_u64() % 6 {
        0 => AttemptAnswer { result: Ok(301), ..plain },
        1 => AttemptAnswer { result: Ok(500), hint: Some(Hint::Never), ..plain },
        2 => AttemptAnswer {
            result: Ok(200),
            hint: Some(Hint::AtLeast(Span::from_secs(99))),
            ..plain
        },
        3 => AttemptAnswer {
            result: Ok(410),
            hint: Some(Hint::AtLeast(Span::from_secs(5))),
            ..plain
        },
        _ => AttemptAnswer { result: Err(failure), ..plain },
    }
}
