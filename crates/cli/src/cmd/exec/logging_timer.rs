//! The time that the engine waits by, which tells people of each wait.

use std::rc::Rc;
use std::sync::Arc;

use stagger::{Clock, Sleep, TokioTime};
use stagger_core::{Instant, Span};

use super::host_ledger::HostLedger;
use super::supervisor::Supervisor;

/// Tokio's time. A timer that is asked for while no attempt is under way is a delay, or the pause
/// that some policies want before a refused call returns.
pub(super) struct LoggingTimer {
    pub(super) supervisor: Rc<Supervisor>,
    pub(super) ledger: Arc<HostLedger>,
}

impl Clock for LoggingTimer {
    fn now(&self) -> Instant {
        TokioTime.now()
    }
}

impl Sleep for LoggingTimer {
    type Timer = <TokioTime as Sleep>::Timer;

    fn sleep(&self, span: Span) -> Self::Timer {
        if !self.supervisor.is_busy() && !self.ledger.has_refused() {
            self.supervisor.context.reporter.waits(span);
        }
        TokioTime.sleep(span)
    }
}
