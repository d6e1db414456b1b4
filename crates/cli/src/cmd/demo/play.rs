//! The play: messages are sent while the receiver is down, then everybody waits.

use std::error::Error;
use std::time::Duration;

use stagger::Span;
use tokio::time::{MissedTickBehavior, interval};

use super::part::Part;
use super::path::Path;
use super::receiver::Receiver;
use super::screen::{Scene, Screen};
use super::stage::{EVENTS, Stage};

/// The time between two looks at the dispatcher and the receiver.
const LOOK: Duration = Duration::from_millis(50);
/// Long past the end of every backlog.
const LONGEST: Span = Span::from_secs(50);

/// Plays it and shows it; false when something was not delivered in time.
pub(super) async fn play(
    stage: &Stage,
    receiver: &Receiver,
    screen: &mut Screen,
) -> Result<bool, Box<dyn Error>> {
    screen.open(stage.page)?;
    let mut path = Path::default();
    // The clock begins here.
    receiver.elapsed();
    let sending = stage.send();
    tokio::pin!(sending);
    let mut sent = false;
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            done = &mut sending, if !sent => { done?; sent = true; }
            _ = look.tick() => {
                if let Some(view) = stage.node.view(stage.endpoints[Part::Guarded as usize]).await {
                    path.note(receiver.elapsed(), &view);
                }
                screen.show(&Scene { receiver, path: &path })?;
            }
        }
        let delivered = receiver.tally().delivered() >= EVENTS;
        if (delivered && path.is_over()) || receiver.elapsed() > LONGEST {
            screen.close(&Scene { receiver, path: &path })?;
            return Ok(delivered);
        }
    }
}

/// The last line.
pub(super) fn balance(receiver: &Receiver) -> String {
    let delivered = receiver.tally().delivered();
    format!("{delivered} of {EVENTS} delivered, {} lost", EVENTS - delivered.min(EVENTS))
}
