//! A fault script, and what comes of it through one program.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::shop::{self, Fault};

/// One call of a program; true when it succeeded.
pub(crate) type PlayedCall = Rc<dyn Fn() -> Pin<Box<dyn Future<Output = bool>>>>;

/// Faults, and the calls that meet them.
pub(crate) struct FaultScript {
    pub(crate) name: &'static str,
    /// The faults of the first attempts, in the order in which they come.
    faults: &'static [Fault],
    /// The time for which every attempt is busy.
    outage: Duration,
    /// Calls that start at the same time.
    calls: u32,
}

/// Calls that succeed before the faults come, so that a budget has seen its destination well.
const CLEAN: u32 = 100;

pub(crate) const SCRIPTS: [FaultScript; 4] = [
    FaultScript::of_one_call("busy twice", &[Fault::Busy; 2]),
    FaultScript::of_one_call("gone", &[Fault::Gone]),
    FaultScript::of_one_call("busy eight times", &[Fault::Busy; 8]),
    FaultScript {
        name: "busy for a minute, 100 calls",
        faults: &[],
        outage: Duration::from_secs(60),
        calls: 100,
    },
];

impl FaultScript {
    const fn of_one_call(name: &'static str, faults: &'static [Fault]) -> Self {
        Self { name, faults, outage: Duration::ZERO, calls: 1 }
    }
}

/// The result of a script.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ScriptResult {
    succeeded: u32,
    failed: u32,
    /// Attempts that reached the server.
    attempts: u32,
    /// From the first call to the end of the last, on the clock of the runtime.
    seconds: f64,
}

/// Plays a script through a program that has made no call yet.
pub(crate) async fn play(
    script: &FaultScript,
    call: &PlayedCall,
) -> Result<ScriptResult, Box<dyn Error>> {
    shop::fail(&[], Duration::ZERO);
    for _ in 0..CLEAN {
        if !call().await {
            return Err("a call failed that met no fault".into());
        }
    }
    shop::fail(script.faults, script.outage);
    let start = Instant::now();
    let local = LocalSet::new();
    let results = local.run_until(async {
        let mut calls = JoinSet::new();
        for _ in 0..script.calls {
            calls.spawn_local(call());
        }
        calls.join_all().await
    });
    let results = results.await;
    let succeeded = u32::try_from(results.iter().filter(|ok| **ok).count())?;
    let failed = script.calls - succeeded;
    let seconds = (start.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    Ok(ScriptResult { succeeded, failed, attempts: shop::asked(), seconds })
}
