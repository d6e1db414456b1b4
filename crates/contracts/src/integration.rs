//! The interface of an integration.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use stagger::{LocalLedger, Policy, Retrier, TokioTime};
use stagger_testkit::server::Reaction;

use crate::{Ask, CallOutcome};

/// A call under way.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes calls, all by one client.
pub type ContractCaller = Box<dyn Fn(Ask) -> Later<CallOutcome> + Send + Sync>;

/// One way to make calls under a policy.
pub trait Integration: fmt::Debug + Send + Sync {
    /// Its name in the grid.
    fn name(&self) -> &'static str;

    /// Makes calls one after the other, each by a clone of one client, under this policy and this ledger.
    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>>;

    /// A client under this policy, whose other settings are those that it has by default.
    fn client(&self, policy: Policy) -> ContractCaller;

    /// Makes a call inside an attempt of another call, which is an async one.
    fn nested(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        ask: Ask,
    ) -> Later<Vec<CallOutcome>> {
        let mut inner = Some(self.calls(policy, ledger, vec![ask]));
        Box::pin(async move {
            let outer = Retrier::new(Policy::default(), TokioTime);
            let run = outer.call().run(|| {
                let inner = inner.take();
                async {
                    inner.ok_or(io::ErrorKind::Other)?.await.pop().ok_or(io::Error::other("no end"))
                }
            });
            run.await.into_iter().collect()
        })
    }

    /// Why a promise does not apply; `None` when it does.
    fn waives(&self, _promise: &str) -> Option<&'static str> {
        None
    }

    /// The reply of its protocol that HTTP gives by this status, with a reason; `None` when it has none.
    fn failure(&self, status: u16, why: &'static str) -> Option<Reaction> {
        Some(Reaction::status(status).body(why))
    }

    /// The reply of its protocol to a call that went well.
    fn success(&self) -> Reaction {
        Reaction::ok("fine")
    }
}
