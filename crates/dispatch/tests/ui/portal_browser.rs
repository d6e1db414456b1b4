//! The portal in a real browser: its looks, and the way of a person whose endpoint fails.

use std::fs;

use serde_json::json;
use stagger_dispatch::config::PortalSettings;
use stagger_dispatch::ui::UiOptions;
use stagger_testkit::Browser;

use crate::browser::{SETTLED, Show, VIOLATIONS, WINDOWS};
use crate::portal::pages;
use crate::portal_fixture::Portals;

fn options() -> UiOptions {
    let settings = PortalSettings {
        title: "Acme webhooks".into(),
        accent: Some("#0a7d5c".parse().unwrap()),
        ..PortalSettings::default()
    };
    UiOptions { portal: settings, ..UiOptions::default() }
}

/// Opens the portal with a new link, and waits until its first page is there.
fn enter(browser: &mut Browser, portals: &Portals, token: &str) {
    let address = portals.fixture.address;
    browser.visit(&format!("http://{address}/portal/open#{token}"));
    browser.until("location.pathname", &json!(format!("/portal/{}", portals.app)));
    browser.until("document.readyState", &json!("complete"));
    browser.eval(SETTLED);
}

#[test]
fn pages_look_whole_in_every_window_and_break_no_rule() {
    let Some(mut show) = Show::begin("portal-look") else { return };
    let portals = show.runtime.block_on(Portals::set(options()));
    let (_, token) = show.runtime.block_on(portals.link(portals.app, "manage"));
    let axe = std::env::var_os("STAGGER_TEST_AXE").map(|file| fs::read_to_string(file).unwrap());
    let outside = ["/portal/open".to_owned(), "/portal/app_1".to_owned()];
    let browser = &mut show.browser;
    enter(browser, &portals, &token);
    let paths = pages(&portals).into_iter().chain(outside);
    for (n, path) in paths.enumerate() {
        for (window, width, scheme) in WINDOWS {
            browser.set_window(width, scheme);
            browser.problems();
            browser.visit(&format!("http://{}{path}", portals.fixture.address));
            browser.eval(SETTLED);
            // The browser itself reports the status of an error page.
            let problems = browser.problems();
            assert!(
                problems.is_empty() || path.ends_with("app_1"),
                "{path} {window}: {problems:?}"
            );
            assert_ne!(browser.eval("document.title"), "broken in");
            let room = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.eval(room), true, "{path} {window} is too wide");
            assert_eq!(browser.pale(), json!([]), "{path} {window}");
            if let Some(axe) = &axe {
                browser.eval(&format!("{axe}; true"));
                assert_eq!(browser.eval(VIOLATIONS), json!([]), "{path} {window}");
            }
            let file = show.pictures.join(format!("portal-{n:02}-{window}.png"));
            fs::write(file, browser.picture()).unwrap();
        }
    }
}

#[test]
fn a_person_finds_the_failing_endpoint_retries_and_makes_another() {
    let Some(mut show) = Show::begin("portal-walk") else { return };
    let portals = show.runtime.block_on(Portals::set(options()));
    let (_, token) = show.runtime.block_on(portals.link(portals.app, "manage"));
    let base = format!("/portal/{}", portals.app);
    let browser = &mut show.browser;
    enter(browser, &portals, &token);
    assert_eq!(browser.eval("location.href.includes('#')"), false, "the token left the address");
    let history = browser.call("Page.getNavigationHistory", json!({})).to_string();
    assert!(!history.contains(&token), "and the history: {history}");
    let shown = browser.eval("document.querySelector('#live').innerText");
    let shown = shown.as_str().unwrap();
    assert!(shown.contains("/failing") && shown.contains("500 Internal Server Error"), "{shown}");
    let click = |selector: &str| format!("document.querySelector('{selector}').click()");
    // The endpoint that fails, and its reply.
    let link = format!("a[href=\"{base}/endpoints/{}\"]", portals.fixture.failing);
    browser.until_loaded(|browser| drop(browser.eval(&click(&link))));
    let reply = browser.eval("document.querySelector('.failure pre').innerText");
    assert_eq!(reply, crate::fixture::HOSTILE);
    // Its delivery, and once more.
    browser.until_loaded(|browser| drop(browser.eval(&click(".failure a"))));
    browser.until_loaded(|browser| drop(browser.eval(&click("form[action$=\"/retry\"] button"))));
    let said = browser.eval("document.getElementById('note').innerText.trim()");
    assert_eq!(said, "It is attempted now, before all others to its endpoint.");
    // Another endpoint, first with a mistake.
    browser.visit(&format!("http://{}{base}/endpoints/new", portals.fixture.address));
    let fill = |name: &str, value: &str| {
        format!("document.querySelector('[name={name}]').value = '{value}'")
    };
    browser.eval("document.querySelector('details').open = true");
    browser.eval(&fill("url", "http://127.0.0.1:1/second"));
    browser.eval(&fill("timeout", "5m"));
    let submit = click("form.stack button.main");
    browser.until_loaded(|browser| drop(browser.eval(&submit)));
    let error = browser.eval("document.querySelector('.error').innerText");
    assert!(error.as_str().unwrap().contains("must be from 1s to 120s"), "{error}");
    browser.eval(&fill("timeout", "5s"));
    browser.until_loaded(|browser| drop(browser.eval(&submit)));
    let secret = browser.eval("document.querySelector('pre').innerText");
    assert!(secret.as_str().unwrap().starts_with("whsec_"), "{secret}");
    browser.until_loaded(|browser| drop(browser.eval(&click("a.button.main"))));
    assert_eq!(browser.eval("document.querySelector('h1').innerText"), "http://127.0.0.1:1/second");
    let endpoints = portals.fixture.node.endpoints(portals.app);
    assert!(endpoints.iter().any(|endpoint| endpoint.url.ends_with("/second")));
    // Leaving ends the session, also for who goes back.
    browser.until_loaded(|browser| drop(browser.eval(&click(".out button"))));
    assert_eq!(browser.eval("location.pathname"), "/portal/open");
    browser.problems();
    browser.visit(&format!("http://{}{base}", portals.fixture.address));
    let heading = browser.eval("document.querySelector('h1').innerText");
    assert_eq!(heading, "Your session has ended");
}
