//! The page in a real browser. Runs if `STAGGER_TEST_CHROMIUM` names a folder for pictures. If
//! `STAGGER_TEST_AXE` names the file `axe.min.js` of axe-core, its rules of accessibility are checked too.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use stagger_dispatch::access::Role;
use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::KeyHash;
use stagger_testkit::Browser;
use tokio::runtime::Runtime;

use crate::fixture::{Fixture, Operators};

/// The windows that pictures are taken of.
pub(crate) const WINDOWS: [(&str, u32, &str); 4] = [
    ("light", 1280, "light"),
    ("dark", 1280, "dark"),
    ("narrow", 390, "light"),
    ("narrow-dark", 390, "dark"),
];

/// Until scripts have drawn the chart, if there is one, and the page has settled.
pub(crate) const SETTLED: &str = "new Promise((done) => {
    const look = () => {
        const plot = document.querySelector('.plot');
        const drawn = !plot || plot.querySelector('canvas');
        if (drawn) requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
        else requestAnimationFrame(look);
    };
    look();
})";

/// The layout shift of the page.
const SHIFT: &str = "new Promise((done) => {
    let sum = 0;
    const add = (list) => list.forEach((shift) => { sum += shift.value; });
    const watch = new PerformanceObserver((list) => add(list.getEntries()));
    watch.observe({type: 'layout-shift', buffered: true});
    requestAnimationFrame(() => requestAnimationFrame(() => { add(watch.takeRecords()); done(sum); }));
})";

/// The findings of axe-core: the rule and the element of each violation.
pub(crate) const VIOLATIONS: &str = "axe.run().then((found) => found.violations.flatMap(
    (rule) => rule.nodes.map((node) => rule.id + ': ' + node.target.join(' '))))";

/// Waits in the page until a condition holds; false after 20 seconds in which it has not.
fn until(condition: &str) -> String {
    format!(
        "new Promise((done) => {{
            const end = performance.now() + 20000;
            const look = () => {{
                if ({condition}) done(true);
                else if (performance.now() > end) done(false);
                else requestAnimationFrame(look);
            }};
            look();
        }})"
    )
}

pub(crate) struct Show {
    pub(crate) browser: Browser,
    pub(crate) pictures: PathBuf,
    profile: PathBuf,
    pub(crate) runtime: Runtime,
}

impl Show {
    /// A browser, if one is wanted.
    pub(crate) fn begin(name: &str) -> Option<Self> {
        let pictures = PathBuf::from(std::env::var_os("STAGGER_TEST_CHROMIUM")?);
        fs::create_dir_all(&pictures).unwrap();
        let profile = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        let browser = Browser::start(&profile);
        Some(Self { browser, pictures, profile, runtime: Runtime::new().unwrap() })
    }

    pub(crate) fn fixture(&self, options: UiOptions) -> Fixture {
        self.runtime.block_on(Fixture::set(options))
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.profile);
    }
}

#[test]
fn pages_look_whole_in_every_window_and_break_no_rule() {
    let Some(mut show) = Show::begin("look") else { return };
    let operators = Operators::new("look");
    // As long as a name may be, with nothing to break it at.
    for (name, role) in [("alice", Role::Admin), (&"n".repeat(64), Role::Viewer)] {
        operators.file.add(name, role).unwrap();
    }
    let fixture = show.fixture(UiOptions { admin_key: None, ..operators.options() });
    let axe = std::env::var_os("STAGGER_TEST_AXE").map(|file| fs::read_to_string(file).unwrap());
    let browser = &mut show.browser;
    for (n, path) in fixture.paths().iter().enumerate() {
        for (window, width, scheme) in WINDOWS {
            browser.set_window(width, scheme);
            browser.visit(&format!("http://{}{path}", fixture.address));
            browser.eval(SETTLED);
            assert_eq!(browser.problems(), [""; 0], "{path} {window}");
            assert_ne!(browser.eval("document.title"), "broken in");
            let room = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.eval(room), true, "{path} {window} is too wide");
            assert_eq!(browser.pale(), json!([]), "{path} {window}");
            if let Some(axe) = &axe {
                browser.eval(&format!("{axe}; true"));
                assert_eq!(browser.eval(VIOLATIONS), json!([]), "{path} {window}");
            }
            let shift = browser.eval(SHIFT).as_f64().unwrap();
            assert!(shift < 0.01, "{path} {window} moved by {shift}");
            let file = show.pictures.join(format!("{n:02}-{window}.png"));
            fs::write(file, browser.picture()).unwrap();
        }
    }
}

#[test]
fn the_policy_refuses_what_is_not_ours() {
    let Some(mut show) = Show::begin("policy") else { return };
    let fixture = show.fixture(UiOptions::default());
    let browser = &mut show.browser;
    browser.visit(&format!("http://{}/", fixture.address));
    let refused = browser.eval(
        "new Promise((done) => {
            document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
        })",
    );
    assert_eq!(refused, "script-src-elem");
    assert_eq!(browser.eval("window.ran === undefined"), true);
    assert!(!browser.problems().is_empty(), "a refusal is seen as a problem");
}

#[test]
fn the_keyboard_reaches_every_action_and_shows_where_it_is() {
    let Some(mut show) = Show::begin("keys") else { return };
    let fixture = show.fixture(UiOptions::default());
    let browser = &mut show.browser;
    browser.visit(&format!("http://{}/ui/endpoints/{}", fixture.address, fixture.strict));
    browser.eval(SETTLED);
    let mut way = Vec::new();
    for _ in 0..60 {
        browser.press("Tab", 9);
        let at = browser.eval(
            "(() => {
                const e = document.activeElement;
                return [e.innerText || e.name, getComputedStyle(e).outlineStyle];
            })()",
        );
        if browser.eval("document.activeElement === document.body") == true {
            break;
        }
        assert_ne!(at[1], "none", "{at} shows no focus");
        way.push(at[0].as_str().unwrap_or_default().trim().to_owned());
    }
    assert_eq!(way[0], "Skip to content");
    for action in
        ["Dead letters", "Retry now", "Send a test event", "Disable", "since", "Replay", "Policy"]
    {
        assert!(way.iter().any(|stop| stop == action), "{action} is not on the way: {way:?}");
    }
}

#[test]
fn forms_work_with_and_without_scripts() {
    let Some(mut show) = Show::begin("forms") else { return };
    let key = "the right key";
    let options = UiOptions { admin_key: Some(KeyHash::of(key)), ..UiOptions::default() };
    let fixture = show.fixture(options);
    let browser = &mut show.browser;
    for scripts in [true, false] {
        let off = json!({"value": !scripts});
        browser.call("Emulation.setScriptExecutionDisabled", off);
        browser.call("Network.clearBrowserCookies", json!({}));
        let page = format!("/ui/endpoints/{}", fixture.well);
        browser.visit(&format!("http://{}{page}", fixture.address));
        browser.until("document.activeElement.id", &json!("key"));
        browser.call("Input.insertText", json!({"text": key}));
        browser.until_loaded(|browser| {
            browser.eval("document.querySelector('.door form').requestSubmit()");
        });
        assert_eq!(browser.eval("location.pathname"), page);
        browser.until_loaded(|browser| {
            browser.eval("document.querySelector('form[action$=\"/test\"] button').click()");
        });
        let said = browser.eval("document.getElementById('note').innerText.trim()");
        assert_eq!(said, "A test event is on its way.");
        assert_eq!(browser.eval("document.querySelector('h1').innerText"), "stagger.test");
        assert_eq!(browser.eval("location.search"), if scripts { "" } else { "?said=test" });
        assert_eq!(browser.problems(), [""; 0]);
    }
}

#[test]
fn a_page_that_is_left_open_stays_fresh() {
    let Some(mut show) = Show::begin("fresh") else { return };
    let fixture = show.fixture(UiOptions::default());
    let browser = &mut show.browser;
    browser.visit(&format!("http://{}/ui/endpoints/{}", fixture.address, fixture.well));
    assert_eq!(browser.eval("document.querySelector('#live .badge').innerText"), "active");
    browser.eval("document.querySelector('.actions a').focus()");
    show.runtime.block_on(fixture.node.disable(fixture.well)).unwrap();
    let seen = browser.eval(
        "new Promise((done) => {
            const look = () => {
                const word = document.querySelector('#live .badge').innerText;
                if (word === 'active') requestAnimationFrame(look); else done(word);
            };
            look();
        })",
    );
    assert_eq!(seen, "disabled");
    assert_eq!(browser.eval("document.activeElement.innerText"), "Dead letters", "focus stays");
    assert_eq!(browser.problems(), [""; 0]);
}

/// An incident: which endpoint fails, why, and once more.
#[test]
fn three_clicks_lead_from_a_failing_endpoint_to_its_reply_and_to_a_retry() {
    let Some(mut show) = Show::begin("incident") else { return };
    let fixture = show.fixture(UiOptions::default());
    let browser = &mut show.browser;
    browser.visit(&format!("http://{}/", fixture.address));
    browser.eval(SETTLED);
    let shown = browser.eval("document.querySelector('#live').innerText");
    let shown = shown.as_str().unwrap();
    assert!(shown.contains("/failing") && shown.contains("500 Internal Server Error"), "{shown}");
    let click = |selector: &str| format!("document.querySelector('{selector}').click()");
    // The endpoint that fails, from the first page.
    let link = format!("a[href=\"/ui/endpoints/{}\"]", fixture.failing);
    browser.until_loaded(|browser| drop(browser.eval(&click(&link))));
    let reply = browser.eval("document.querySelector('.failure pre').innerText");
    assert_eq!(reply, crate::fixture::HOSTILE, "the reply is on the page of the endpoint");
    // Its delivery, with every attempt.
    browser.until_loaded(|browser| drop(browser.eval(&click(".failure a"))));
    assert_eq!(browser.eval("document.querySelectorAll('.reply pre').length"), 1);
    // Once more, now.
    browser.until_loaded(|browser| drop(browser.eval(&click("form[action$=\"/retry\"] button"))));
    let said = browser.eval("document.getElementById('note').innerText.trim()");
    assert_eq!(said, "It is attempted now, before all others to its endpoint.");
    assert_eq!(browser.eval(&until("document.querySelectorAll('.reply pre').length === 2")), true);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn a_lost_connection_is_said_where_it_is_seen() {
    let Some(mut show) = Show::begin("lost") else { return };
    let fixture = show.fixture(UiOptions::default());
    let browser = &mut show.browser;
    browser.visit(&format!("http://{}/", fixture.address));
    browser.eval(SETTLED);
    assert_eq!(browser.eval("document.getElementById('link').hidden"), true);
    let offline = |is_off| json!({"offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
    browser.call("Network.enable", json!({}));
    browser.call("Network.emulateNetworkConditions", offline(true));
    assert_eq!(browser.eval(&until("!document.getElementById('link').hidden")), true);
    let shown = browser.eval(
        "(() => {
            const box = document.getElementById('link').getBoundingClientRect();
            return [box.top >= 0 && box.bottom <= innerHeight, document.body.className];
        })()",
    );
    assert_eq!(shown, json!([true, "stale"]));
    let file = show.pictures.join("lost.png");
    fs::write(file, browser.picture()).unwrap();
    browser.call("Network.emulateNetworkConditions", offline(false));
    assert_eq!(browser.eval(&until("document.getElementById('link').hidden")), true);
}
