//! Notifications between nodes that share a memory store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::store_link::StoreLink;
use crate::store::Notification;

/// The listeners.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    state: Mutex<NotificationState>,
}

#[derive(Debug, Default)]
struct NotificationState {
    lost: bool,
    listeners: Vec<(Arc<StoreLink>, mpsc::UnboundedSender<Notification>)>,
}

impl Notifications {
    pub(super) fn listen(&self, line: &Arc<StoreLink>) -> mpsc::UnboundedReceiver<Notification> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state().listeners.push((Arc::clone(line), sender));
        receiver
    }

    /// Notifies all nodes that are not cut off.
    pub(super) fn tell(&self, notification: Notification) {
        let mut state = self.state();
        if !state.lost {
            let told = |line: &StoreLink, to: &mpsc::UnboundedSender<_>| {
                if line.is_whole() { to.send(notification).is_ok() } else { !to.is_closed() }
            };
            state.listeners.retain(|(line, to)| told(line, to));
        }
    }

    pub(super) fn lose(&self, lost: bool) {
        self.state().lost = lost;
    }

    fn state(&self) -> MutexGuard<'_, NotificationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
