//! The task of one source: receive, accept, settle.

use stagger::{Entropy, OsEntropy, Sleep, Span, TokioTime};
use stagger_brokers::{BrokerMessage, Source};
use tokio::sync::watch;
use tokio::task::JoinSet;

use std::sync::Arc;

use super::accept::{SourceOutcome, accept};
use super::figures::SourceFigures;
use crate::config::SourceSettings;
use crate::node::Node;

/// The pauses while a broker or the store is away: jittered up to this, doubled each time, up to the longest.
const FIRST_PAUSE: Span = Span::from_millis(500);
const LONGEST_PAUSE: Span = Span::from_secs(30);

/// Consumes one source.
pub(super) struct Consumer {
    pub(super) node: Node,
    pub(super) source: Box<dyn Source>,
    pub(super) settings: Arc<SourceSettings>,
    pub(super) max_payload: usize,
    pub(super) stopped: watch::Receiver<bool>,
}

impl Consumer {
    /// Runs until it is stopped; messages that were received are settled first.
    pub(super) async fn run(mut self) {
        self.consume().await;
        self.source.close().await;
    }

    async fn consume(&mut self) {
        let figures = SourceFigures::new(&self.settings.name);
        let mut failures = 0;
        while !*self.stopped.borrow() {
            let received = tokio::select! {
                biased;
                _ = self.stopped.wait_for(|stopped| *stopped) => return,
                received = self.source.receive() => received,
            };
            let went_well = match received {
                Ok(arrivals) => self.take(arrivals, &figures).await,
                Err(error) => {
                    figures.failures.increment(1);
                    tracing::warn!(source = self.settings.name, %error, "source not reached");
                    false
                }
            };
            failures = if went_well { 0 } else { failures + 1 };
            if failures > 0 {
                self.pause(failures).await;
            }
        }
    }

    /// Accepts all messages of a round, each on its own, and settles them; false if the source should pause.
    async fn take(&mut self, arrivals: Vec<BrokerMessage>, figures: &SourceFigures) -> bool {
        let mut tasks = JoinSet::new();
        for arrival in arrivals {
            let (node, settings) = (self.node.clone(), Arc::clone(&self.settings));
            let max_payload = self.max_payload;
            tasks.spawn(async move {
                let (outcome, fate) = accept(&node, (&settings, max_payload), &arrival).await;
                (outcome, arrival.ack_id, fate)
            });
        }
        let (mut all, mut later, mut settled) = (0_usize, 0_usize, true);
        while let Some(done) = tasks.join_next().await {
            // A task that panicked has said so, and its message comes again.
            let Ok((outcome, ack_id, fate)) = done else { continue };
            figures.count(outcome);
            all += 1;
            later += usize::from(outcome == SourceOutcome::Later);
            if let Err(error) = self.source.settle(ack_id, fate).await {
                figures.failures.increment(1);
                tracing::warn!(source = self.settings.name, %error, "source message not settled, it comes again");
                settled = false;
            }
        }
        settled && (later == 0 || later < all)
    }

    async fn pause(&mut self, failures: u32) {
        let doubled = FIRST_PAUSE.as_nanos().saturating_mul(1 << failures.min(10));
        let most = Span::from_nanos(doubled).min(LONGEST_PAUSE);
        let pause = OsEntropy.draw(Span::from_nanos(most.as_nanos() / 2), most);
        tokio::select! {
            _ = self.stopped.wait_for(|stopped| *stopped) => {}
            () = TokioTime.sleep(pause) => {}
        }
    }
}
