//! The command: a runtime, the play, and the page until Ctrl-C.

use std::error::Error;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use super::play;
use super::receiver::Receiver;
use super::screen::Screen;
use super::stage::Stage;
use crate::flags::DemoFlags;
use crate::stderr;

/// Plays the demo; a failure when something was not delivered.
pub(crate) fn demo(flags: &DemoFlags) -> ExitCode {
    match run(flags) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => stderr::refuse(&error),
    }
}

fn run(flags: &DemoFlags) -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let receiver = Receiver::default();
        let stage = Stage::start(receiver.listen().await?).await?;
        let mut screen = Screen::default();
        // One listener for the whole run: a Ctrl-C between two of them would be lost.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let played = tokio::select! {
            played = play::play(&stage, &receiver, &mut screen) => played?,
            _ = interrupts.recv() => false,
        };
        if played && !flags.once {
            screen.say(&format!("the page stays open at http://{} until Ctrl-C", stage.page))?;
            interrupts.recv().await;
        }
        stage.end().await;
        screen.say(&play::balance(&receiver))?;
        Ok(played)
    })
}
