//! Why a broker has not taken a message: it said so, or there was no answer.

use stagger::{Sleep, Span, TokioTime};
use stagger_sender::{DestinationReply, SendFailure};

/// A message that was not taken.
#[derive(Debug)]
pub(crate) enum BrokerRefusal {
    /// The broker said so, with the status that its answer has in HTTP.
    Answered { status: u16, detail: String },
    /// There is no answer.
    Failed(SendFailure),
}

impl BrokerRefusal {
    /// An answer of the broker. A 410 would disable the endpoint, which no broker means.
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
        let status = if (400..600).contains(&status) && status != 410 { status } else { 500 };
        Self::Answered { status, detail: detail.into() }
    }

    /// The result of the attempt.
    pub(crate) fn into_reply(self) -> Result<DestinationReply, SendFailure> {
        match self {
            Self::Answered { status, detail } => Ok(DestinationReply::refused(status, detail)),
            Self::Failed(failure) => Err(failure),
        }
    }
}

impl From<SendFailure> for BrokerRefusal {
    fn from(failure: SendFailure) -> Self {
        Self::Failed(failure)
    }
}

impl std::fmt::Display for BrokerRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answered { status, detail } => write!(f, "{status}: {detail}"),
            Self::Failed(failure) => f.write_str(failure.detail()),
        }
    }
}

/// The result of a question, or a refusal once it has taken this long.
pub(crate) async fn within<T>(
    span: Span,
    work: impl Future<Output = Result<T, BrokerRefusal>>,
) -> Result<T, BrokerRefusal> {
    tokio::select! {
        biased;
        done = work => done,
        () = TokioTime.sleep(span) => Err(BrokerRefusal::new(504, "the server does not answer")),
    }
}
