//! An answer that is worked out once for all who ask within a second.

use std::future::Future;

use stagger::{Clock, Instant, Span, TokioTime};
use tokio::sync::Mutex;

/// The age up to which an answer is given again: monitors ask every few seconds.
const AGE: Span = Span::from_secs(1);

/// The last answer. Callers that ask while it is worked out wait for it, so that a flood of questions costs one
/// answer a second.
#[derive(Debug)]
pub(crate) struct SharedAnswer<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> SharedAnswer<T> {
    /// The last answer, or that of `ask` if it is too old.
    pub(crate) async fn get(&self, ask: impl Future<Output = T>) -> T {
        let mut last = self.0.lock().await;
        if let Some((at, answer)) = &*last
            && TokioTime.now().since(*at) < AGE
        {
            return answer.clone();
        }
        let answer = ask.await;
        *last = Some((TokioTime.now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use stagger::Sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_of_many_questions_cost_an_answer() {
        let (answers, asked) = (SharedAnswer::default(), AtomicU32::new(0));
        let ask = || answers.get(async { asked.fetch_add(1, Ordering::Relaxed) });
        for _ in 0..100 {
            assert_eq!(ask().await, 0);
        }
        TokioTime.sleep(AGE).await;
        assert_eq!((ask().await, ask().await), (1, 1));
    }
}
