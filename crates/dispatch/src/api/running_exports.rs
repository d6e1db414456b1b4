//! The exports that are running: one of each application at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use stagger_scheduler::model::ApplicationId;

use crate::Error;

/// The applications whose messages are being exported: one export of each at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningExports {
    applications: Arc<Mutex<BTreeSet<ApplicationId>>>,
}

/// Ends the export of an application when it is dropped.
#[derive(Debug)]
pub(super) struct ExportGuard {
    running: RunningExports,
    application: ApplicationId,
}

impl RunningExports {
    pub(super) fn begin(&self, application: ApplicationId) -> Result<ExportGuard, Error> {
        let mut running = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(application) {
            return Err(Error::over_share("an export of this application is running already"));
        }
        Ok(ExportGuard { running: self.clone(), application })
    }
}

impl Drop for ExportGuard {
    fn drop(&mut self) {
        let running = &self.running.applications;
        running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.application);
    }
}
