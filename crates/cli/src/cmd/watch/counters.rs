//! A page of counters that is looked at again and again.

use std::time::Duration;

use reqwest::{Client, Url};
use stagger_core::Span;
use stagger_watch::{
    CounterNames, CounterWatch, OtherCounter, WatchEvent, WatchSettings, parse_exposition,
};

use super::super::http::tls;
use super::figures::WatchFigures;
use crate::command_error::CommandError;
use crate::flags::WatchFlags;

/// A page of counters, and the watch over it.
#[derive(Debug)]
pub(super) struct CounterPage {
    client: Client,
    url: Url,
    settings: WatchSettings,
    /// The names that were given, or those that the first page tells.
    names: Option<CounterNames>,
    watch: Option<CounterWatch>,
    scrapes: u64,
    failed: u64,
    storms: u64,
}

/// The longest page that is read: large fleets have some megabytes.
const LONGEST: usize = 64 << 20;
/// The time for one look.
const TIMEOUT: Duration = Duration::from_secs(10);

impl CounterPage {
    /// The page of these flags.
    ///
    /// # Errors
    /// A source that is no URL, or one name of a counter without the other.
    pub(super) fn new(flags: &WatchFlags, settings: WatchSettings) -> Result<Self, CommandError> {
        let shown = &flags.source;
        let url = Url::parse(shown).map_err(|error| {
            CommandError::invalid("<LOG|-|URL>", shown, &format!("a URL: {error}"))
        })?;
        let client = stagger::reqwest::client_builder()
            .timeout(TIMEOUT)
            .tls_backend_preconfigured(tls(None, false)?)
            .build();
        let client = client.map_err(|error| CommandError::Log(format!("no client: {error}")))?;
        let names = names(flags)?;
        let (watch, scrapes, failed, storms) = (None, 0, 0, 0);
        Ok(Self { client, url, settings, names, watch, scrapes, failed, storms })
    }

    /// Looks at the page at this time since the epoch.
    ///
    /// # Errors
    /// The reason why there was nothing to see; a later look may succeed.
    pub(super) async fn look(&mut self, now: Span) -> Result<Option<WatchEvent>, String> {
        self.scrapes += 1;
        let looked = self.page().await.and_then(|page| self.read(now, &page));
        self.failed += u64::from(looked.is_err());
        looked
    }

    /// The watch is over.
    pub(super) fn finish(&mut self) -> Option<WatchEvent> {
        self.watch.as_mut().and_then(CounterWatch::finish)
    }

    /// Whether the counters were ever found.
    pub(super) const fn is_found(&self) -> bool {
        self.watch.is_some()
    }

    pub(super) fn figures(&self) -> WatchFigures {
        WatchFigures {
            now: self.watch.as_ref().and_then(CounterWatch::window),
            is_storm: self.watch.as_ref().is_some_and(CounterWatch::is_storm),
            totals: None,
            storms: self.storms,
            lines: self.scrapes,
            malformed: self.failed,
        }
    }

    async fn page(&self) -> Result<String, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        let reply = self.client.get(self.url.clone()).send().await.map_err(failed)?;
        let mut reply = reply.error_for_status().map_err(failed)?;
        let mut page = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(failed)? {
            if page.len() + chunk.len() > LONGEST {
                return Err("the page is longer than 64 MiB".to_owned());
            }
            page.extend_from_slice(&chunk);
        }
        String::from_utf8(page).map_err(|_| "the page is not UTF-8".to_owned())
    }

    fn read(&mut self, now: Span, page: &str) -> Result<Option<WatchEvent>, String> {
        let wanted = |name: &str| match &self.names {
            Some(names) => names.has(name),
            None => CounterNames::is_known(name),
        };
        let samples = parse_exposition(page, wanted).map_err(|error| error.to_string())?;
        let names = self.names.clone().or_else(|| CounterNames::known(&samples)).ok_or(
            "the page has no counters of attempts that are known: name them by --attempts-counter",
        )?;
        if !samples.iter().any(|sample| sample.name == names.attempts) {
            return Err(format!("the page has no counter {}", names.attempts));
        }
        let watch = self.watch.get_or_insert_with(|| CounterWatch::new(self.settings, names));
        let event = watch.scrape(now, &samples);
        self.storms += u64::from(matches!(event, Some(WatchEvent::Began(_))));
        Ok(event)
    }
}

fn names(flags: &WatchFlags) -> Result<Option<CounterNames>, CommandError> {
    let Some(attempts) = flags.attempts_counter.clone() else { return Ok(None) };
    let other = match (&flags.calls_counter, &flags.retries_counter) {
        (Some(calls), _) => OtherCounter::Calls(calls.clone()),
        (None, Some(retries)) => OtherCounter::Retries(retries.clone()),
        (None, None) => {
            let bound = "given with --calls-counter or --retries-counter";
            return Err(CommandError::invalid("--attempts-counter", &attempts, bound));
        }
    };
    Ok(Some(CounterNames { attempts, other }))
}
