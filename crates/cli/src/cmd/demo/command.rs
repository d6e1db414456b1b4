//! The command: messages are sent while the receiver is down, then the dispatcher delivers them all; and the
//! page stays open until Ctrl-C.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use stagger::Span;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::dispatcher::{DemoDispatcher, DemoEndpoint, EVENTS};
use super::receiver::Receiver;
use super::screen::{BreakerHistory, DemoPicture, Screen};
use crate::flags::DemoFlags;
use crate::streams;

/// The time between two looks at the dispatcher and the receiver.
const LOOK: Duration = Duration::from_millis(50);
/// Long past the end of every backlog.
const LONGEST: Span = Span::from_secs(50);

/// Plays the demo; a failure when something was not delivered.
pub(crate) fn demo(flags: &DemoFlags) -> ExitCode {
    match run(flags) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => streams::refuse(&error),
    }
}

fn run(flags: &DemoFlags) -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let receiver = Receiver::default();
        let dispatcher = DemoDispatcher::start(receiver.listen().await?).await?;
        let mut screen = Screen::default();
        // One listener for the whole run: a Ctrl-C between two of them would be lost.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let played = tokio::select! {
            played = play(&dispatcher, &receiver, &mut screen) => played?,
            _ = interrupts.recv() => false,
        };
        if played && !flags.once {
            screen
                .say(&format!("the page stays open at http://{} until Ctrl-C", dispatcher.page))?;
            interrupts.recv().await;
        }
        dispatcher.end().await;
        screen.say(&balance(&receiver))?;
        Ok(played)
    })
}

/// Plays it and shows it; false when something was not delivered in time.
async fn play(
    dispatcher: &DemoDispatcher,
    receiver: &Receiver,
    screen: &mut Screen,
) -> Result<bool, Box<dyn Error>> {
    screen.open(dispatcher.page)?;
    let mut breaker = BreakerHistory::default();
    // The clock begins here.
    receiver.elapsed();
    let sending = dispatcher.send();
    tokio::pin!(sending);
    let mut sent = false;
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            done = &mut sending, if !sent => { done?; sent = true; }
            _ = look.tick() => {
                if let Some(view) = dispatcher.node.view(dispatcher.endpoints[DemoEndpoint::Guarded as usize]).await {
                    breaker.note(receiver.elapsed(), &view);
                }
                screen.show(&DemoPicture { receiver, breaker: &breaker })?;
            }
        }
        let delivered = receiver.counts().delivered() >= EVENTS;
        if (delivered && breaker.is_over()) || receiver.elapsed() > LONGEST {
            screen.close(&DemoPicture { receiver, breaker: &breaker })?;
            return Ok(delivered);
        }
    }
}

/// The last line.
fn balance(receiver: &Receiver) -> String {
    let delivered = receiver.counts().delivered();
    format!("{delivered} of {EVENTS} delivered, {} lost", EVENTS - delivered.min(EVENTS))
}
