//! The portal in a frame of another site, and without scripts, in a real browser.
//!
//! `localhost` and `127.0.0.1` are two sites, and both count as secure, so that cookies of frames work without TLS.

use serde_json::{Value, json};
use stagger_dispatch::config::PortalSettings;
use stagger_dispatch::ui::UiOptions;
use stagger_testkit::Browser;
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::browser::Show;
use crate::portal_fixture::Portals;

/// A page of another site that shows the portal.
struct Parent {
    server: TestServer,
}

impl Parent {
    async fn start() -> Self {
        let page = Reaction::ok("<!doctype html><title>parent</title><body></body>")
            .header("content-type", "text/html");
        Self { server: TestServer::start(Script::always(page)).await }
    }

    fn origin(&self) -> String {
        format!("http://localhost:{}", self.server.address().port())
    }

    /// Shows a link in a frame, and waits until the frame has loaded something.
    fn show(&self, browser: &mut Browser, link: &str) {
        browser.visit(&self.origin());
        let frame = format!(
            "new Promise((done) => {{
                const frame = document.createElement('iframe');
                frame.width = 900;
                frame.height = 700;
                frame.onload = () => done(true);
                frame.src = {};
                document.body.append(frame);
            }})",
            Value::from(link)
        );
        assert_eq!(browser.eval(&frame), true);
    }
}

#[test]
fn the_portal_opens_in_a_frame_of_a_listed_site_and_of_no_other() {
    let Some(mut show) = Show::begin("portal-frame") else { return };
    let (listed, other) =
        show.runtime.block_on(async { (Parent::start().await, Parent::start().await) });
    let settings =
        PortalSettings { frame_ancestors: vec![listed.origin()], ..PortalSettings::default() };
    let options = UiOptions { portal: settings, secure: true, ..UiOptions::default() };
    let portals = show.runtime.block_on(Portals::set(options));
    let site = format!("http://{}", portals.fixture.address);
    let base = format!("{site}/portal/{}", portals.app);
    let browser = &mut show.browser;

    let (_, token) = show.runtime.block_on(portals.link(portals.app, "manage"));
    other.show(browser, &format!("{site}/portal/open#{token}"));
    // What is refused has the address of what was wanted, and shows a page of the browser.
    let shown = browser.eval_in_frame(&site, "location.protocol");
    assert!(shown.is_none_or(|it| it == "chrome-error:"), "another site shows it");
    let problems = browser.problems().join(" ");
    assert!(problems.contains("frame-ancestors"), "{problems}");

    // The link is not used up: it opens the portal where it may be shown.
    listed.show(browser, &format!("{site}/portal/open#{token}"));
    let heading = browser.until_in_frame(&base, "document.querySelector('h1').innerText");
    assert_eq!(heading, "Endpoints");
    let link = format!("a[href$='/endpoints/{}']", portals.fixture.failing);
    browser.until_in_frame(&base, &format!("document.querySelector(\"{link}\").click() ?? true"));
    let page = format!("{base}/endpoints/");
    let url = browser.until_in_frame(&page, "document.querySelector('h1').innerText");
    assert!(url.as_str().is_some_and(|url| url.ends_with("/failing")), "{url}");
    // Its forms are its own, also within the frame of another site.
    let submit = "document.querySelector('form[action$=\"/test\"] button').click() ?? true";
    browser.until_in_frame(&page, submit);
    let said = "document.getElementById('note')?.innerText.trim() || null";
    let said = browser.until_in_frame(&format!("{base}/deliveries/"), said);
    assert!(said.as_str().is_some_and(|said| said.contains("test event")), "{said}");
    // The session is that of the frame: a window of its own has none.
    browser.visit(&base);
    assert_eq!(browser.eval("document.querySelector('h1').innerText"), "Your session has ended");
}

#[test]
fn a_person_without_scripts_opens_the_portal_and_sends_a_form() {
    let Some(mut show) = Show::begin("portal-plain") else { return };
    let portals = show.runtime.block_on(Portals::set(UiOptions::default()));
    let (_, token) = show.runtime.block_on(portals.link(portals.app, "manage"));
    let site = format!("http://{}", portals.fixture.address);
    let base = format!("/portal/{}", portals.app);
    let browser = &mut show.browser;
    browser.allow_scripts(false);
    let address = format!("{site}/portal/open#{token}");
    browser.visit(&address);
    let fill = format!("document.getElementById('token').value = {}", json!(address));
    browser.eval(&fill);
    let click = |selector: &str| format!("document.querySelector('{selector}').click()");
    browser.until_loaded(|browser| drop(browser.eval(&click("noscript button.main"))));
    assert_eq!(browser.eval("location.pathname"), base);
    assert_eq!(browser.eval("document.querySelector('h1').innerText"), "Endpoints");
    browser.visit(&format!("{site}{base}/endpoints/new"));
    let fill = |name: &str, value: &str| {
        format!("document.querySelector('[name={name}]').value = '{value}'")
    };
    browser.eval(&fill("url", "http://127.0.0.1:1/plain"));
    browser.eval(&fill("format", "cloudevents-binary"));
    browser.eval(&fill("auth", "bearer"));
    browser.eval(&fill("auth_token", "hunter2"));
    browser.until_loaded(|browser| drop(browser.eval(&click("form.stack button.main"))));
    let secret = browser.eval("document.querySelector('pre').innerText");
    assert!(secret.as_str().is_some_and(|secret| secret.starts_with("whsec_")), "{secret}");
    let made = portals.fixture.node.endpoints(portals.app);
    let made = made.iter().find(|endpoint| endpoint.url.ends_with("/plain")).expect("it was made");
    assert_eq!(made.format.name(), "cloudevents-binary");
    assert_eq!(made.auth.as_ref().map(|auth| auth.kind()), Some("bearer"));
}
