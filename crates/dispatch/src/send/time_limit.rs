//! A bound on how long something may take.

use std::future::Future;
use std::pin::pin;

use stagger::{Sleep, Span, TokioTime};

/// The output of `work`, or `None` if it takes longer than `span`; `work` is then dropped.
pub(super) async fn within<F: Future>(span: Span, work: F) -> Option<F::Output> {
    let (work, timer) = (pin!(work), pin!(TokioTime.sleep(span)));
    tokio::select! {
        biased;
        output = work => Some(output),
        () = timer => None,
    }
}
