//! A subscriber that writes events down, as a person would read them.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Hears every event of this thread while it works.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listener(Arc<Mutex<Vec<String>>>);

impl Listener {
    /// The events of `work`: level, target, name, and the fields but the message.
    pub(crate) fn hear(work: impl FnOnce()) -> Vec<String> {
        let listener = Self::default();
        let heard = Arc::clone(&listener.0);
        // With one subscriber alive, tracing asks only that of the thread that first meets an event, which
        // has none in another test, and then drops the event for all. With two it asks both.
        let _second = tracing::Dispatch::new(Self::default());
        tracing::subscriber::with_default(listener, work);
        std::mem::take(&mut heard.lock().expect("no test panics while it writes"))
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let about = event.metadata();
        let mut line = Line(format!("{} {} {}", about.level(), about.target(), about.name()));
        event.record(&mut line);
        self.0.lock().expect("no test panics while it writes").push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let name = field.name().trim_start_matches("stagger.");
        if name != "message" {
            write!(self.0, " {name}={value:?}").expect("a string takes all");
        }
    }
}
