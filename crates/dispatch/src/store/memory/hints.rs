//! What nodes that share a store in memory tell one another at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::line::Line;
use crate::store::Hint;

/// Who listens.
#[derive(Debug, Default)]
pub(super) struct Hints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lost: bool,
    listeners: Vec<(Arc<Line>, mpsc::UnboundedSender<Hint>)>,
}

impl Hints {
    pub(super) fn listen(&self, line: &Arc<Line>) -> mpsc::UnboundedReceiver<Hint> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state().listeners.push((Arc::clone(line), sender));
        receiver
    }

    /// Tells everybody who is not cut off.
    pub(super) fn tell(&self, hint: Hint) {
        let mut state = self.state();
        if !state.lost {
            let told = |line: &Line, to: &mpsc::UnboundedSender<_>| {
                if line.is_whole() { to.send(hint).is_ok() } else { !to.is_closed() }
            };
            state.listeners.retain(|(line, to)| told(line, to));
        }
    }

    pub(super) fn lose(&self, lost: bool) {
        self.state().lost = lost;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
