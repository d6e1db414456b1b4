//! One node's way to a store in memory that several share, which a test can cut.

use tokio::sync::watch;

use crate::Error;

/// How a node is cut off from a store that it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Calls fail at once, and change nothing.
    Refused,
    /// Calls do nothing until the line is whole again, and are made then.
    Silent,
    /// Calls take effect, but their answers are lost. As it is unknown then whether they did, those that
    /// have to know answer once the line is whole again; all others fail.
    Unanswered,
}

/// What becomes of a call whose answer was lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doubt {
    /// It fails: to make it again comes to the same.
    Fails,
    /// It answers once that is possible.
    Waits,
}

#[derive(Debug)]
pub(super) struct Line {
    cut: watch::Sender<Option<Cut>>,
}

impl Line {
    pub(super) fn set(&self, cut: Option<Cut>) {
        self.cut.send_replace(cut);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.now().is_none()
    }

    /// Makes a call as far as the line lets it.
    pub(super) async fn call<T>(
        &self,
        doubt: Doubt,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        while self.now() == Some(Cut::Silent) {
            self.whole().await;
        }
        match (self.now(), doubt) {
            (None, _) => work(),
            (Some(Cut::Unanswered), Doubt::Fails) => work().and(Err(away())),
            (Some(Cut::Unanswered), Doubt::Waits) => {
                let answer = work();
                self.whole().await;
                answer
            }
            (Some(Cut::Refused | Cut::Silent), _) => Err(away()),
        }
    }

    fn now(&self) -> Option<Cut> {
        *self.cut.borrow()
    }

    async fn whole(&self) {
        let mut cut = self.cut.subscribe();
        // It cannot close: this line holds its sender.
        _ = cut.wait_for(Option::is_none).await;
    }
}

impl Default for Line {
    fn default() -> Self {
        Self { cut: watch::Sender::new(None) }
    }
}

fn away() -> Error {
    Error::store("the node is cut off")
}
