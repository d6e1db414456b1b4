//! The page as a browser shows it. Runs where `STAGGER_TEST_CHROMIUM` names a folder for pictures and
//! `scripts/playground` has built the lab.
#![expect(clippy::unwrap_used, reason = "what is unexpected in a test is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stagger_playground::{Knobs, OutageKind, OutageKnobs, Picture};
use stagger_sim::Law;
use stagger_testkit::Browser;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/playground/index.html");
const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/playground/lab.js");

/// The windows that pictures are taken of.
const WINDOWS: [(&str, u32, &str); 5] = [
    ("light", 1280, "light"),
    ("dark", 1280, "dark"),
    ("narrow", 390, "light"),
    ("narrow-dark", 390, "dark"),
    ("narrowest", 360, "light"),
];

/// Settings whose pictures are kept: their name, and the address after `#`.
const STORMS: [(&str, &str); 9] = [
    ("first", ""),
    ("clumps", "law=none&attempts=13&outage=200"),
    ("loaded", "law=full&load=60&attempts=13&callers=2000"),
    ("alone", "law=no-retry&outage=3000"),
    ("stall", "preset=stall"),
    ("timeout", "preset=timeout"),
    ("budget", "preset=budget"),
    ("breaker", "preset=breaker"),
    ("remedies", "preset=stall&trouble=down&budget=10&breaker=2000&queue=200"),
];

/// The command of the run that is drawn, once every row is.
const DRAWN: &str = "new Promise((done) => {
    const look = () => {
        const drawn = document.body.dataset.drawn;
        if (drawn) requestAnimationFrame(() => done(drawn)); else requestAnimationFrame(look);
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
})";

/// Everything that is drawn, as a number that differs when it does.
const STRIPS: &str = "[...document.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())
    .join().split('').reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0, 7)";

/// The sliders of each preset, and a storm in which every one of them matters.
const SLIDERS: [(&str, &[&str]); 5] = [
    (
        "preset=herd&law=full&base=100&cap=1000&attempts=6&outage=3000&load=20&callers=1000",
        &["law", "base", "cap", "attempts", "outage", "load", "callers"],
    ),
    (
        "preset=stall&lasts=1000&calls=70&style=equal&queue=50",
        &["lasts", "calls", "tries", "timeout", "style", "base", "queue"],
    ),
    ("preset=timeout&trouble=stall", &["timeout", "trouble", "lasts", "calls", "tries", "base"]),
    ("preset=budget", &["budget", "trouble", "lasts", "calls", "tries", "timeout"]),
    ("preset=breaker", &["breaker", "trouble", "lasts", "calls", "tries", "timeout"]),
];

/// Keys, and their codes on Windows, by which the protocol knows them.
const TAB: (&str, u32) = ("Tab", 9);
const RIGHT: (&str, u32) = ("ArrowRight", 39);
const END: (&str, u32) = ("End", 35);

struct Show {
    browser: Browser,
    pictures: PathBuf,
    profile: PathBuf,
}

impl Show {
    /// A browser that shows the page, if one is wanted and there is a lab to show.
    fn begin(name: &str) -> Option<Self> {
        let pictures = PathBuf::from(std::env::var_os("STAGGER_TEST_CHROMIUM")?);
        if !Path::new(LAB).exists() {
            return None;
        }
        let profile = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::create_dir_all(&pictures).unwrap();
        let mut show = Self { browser: Browser::start(&profile), pictures, profile };
        show.visit("");
        Some(show)
    }

    fn visit(&mut self, settings: &str) {
        self.browser.call("Page.navigate", json!({"url": "about:blank"}));
        self.browser.visit(&format!("file://{PAGE}#{settings}"));
        self.browser.eval(DRAWN);
    }

    /// The text that the lab in the page makes of these settings.
    fn played(&mut self, knobs: &Knobs) -> String {
        let Knobs { law, base_ms, cap_ms, attempts, outage_ms, callers, beside, seed } = *knobs;
        let told = self.browser.eval(&format!(
            "text(lab.stagger_play(knobs.law.stops.indexOf('{law}'), {base_ms}, {cap_ms}, {attempts},
                {outage_ms}, {callers}, {beside}, {seed}))"
        ));
        told.as_str().unwrap().to_owned()
    }

    /// The texts that the lab in the page makes of an outage: its run and its file.
    fn outage(&mut self, knobs: &OutageKnobs) -> [String; 2] {
        let place = |found: Option<usize>| found.unwrap();
        let trouble = place(OutageKind::ALL.iter().position(|kind| *kind == knobs.trouble));
        let law = place(OutageKnobs::LAWS.iter().position(|law| *law == knobs.law));
        let OutageKnobs { lasts_ms, load, base_ms, attempts, timeout_ms, .. } = *knobs;
        let OutageKnobs { budget_percent, breaker_ms, queue, seed, .. } = *knobs;
        ["stagger_outage", "stagger_outage_file"].map(|function| {
            let told = self.browser.eval(&format!(
                "text(lab.{function}({trouble}, {lasts_ms}, {load}, {law}, {base_ms}, {attempts}, {timeout_ms},
                    {budget_percent}, {breaker_ms}, {queue}, {seed}))"
            ));
            told.as_str().unwrap().to_owned()
        })
    }

    /// The text of an element.
    fn said(&mut self, id: &str) -> String {
        let said = self.browser.eval(&format!("document.getElementById('{id}').textContent"));
        said.as_str().unwrap().to_owned()
    }

    fn press(&mut self, (key, code): (&str, u32)) {
        self.browser.press(key, code);
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.profile);
    }
}

#[test]
fn a_run_in_the_page_is_the_run_of_the_lab_to_the_last_byte() {
    let Some(mut show) = Show::begin("same") else { return };
    let knobs = Knobs {
        law: Law::Full,
        base_ms: 100,
        cap_ms: 10_000,
        attempts: 6,
        outage_ms: 200,
        callers: 1_000,
        beside: 0,
        seed: 1,
    };
    let storms = [
        knobs,
        Knobs { law: Law::None, attempts: 0, ..knobs },
        // Gaussians, exponentials and the hyperbolic tangent: where platforms would differ.
        Knobs { law: Law::Octave, beside: 500, seed: 7, ..knobs },
        Knobs { law: Law::DecorrelatedClamped, callers: 5_000, outage_ms: 3_000, ..knobs },
        Knobs { cap_ms: 50, ..knobs },
    ];
    for knobs in storms {
        assert_eq!(show.played(&knobs), Picture::json(&knobs), "{knobs:?}");
    }
    let outage = OutageKnobs {
        trouble: OutageKind::Stall,
        lasts_ms: 5_000,
        load: 700,
        law: Law::Full,
        base_ms: 100,
        attempts: 4,
        timeout_ms: 500,
        budget_percent: 0,
        breaker_ms: 0,
        queue: 0,
        seed: 1,
    };
    for knobs in [
        outage,
        OutageKnobs { trouble: OutageKind::Slow, timeout_ms: 200, seed: 7, ..outage },
        OutageKnobs { trouble: OutageKind::Failing, budget_percent: 10, queue: 200, ..outage },
        OutageKnobs { trouble: OutageKind::Down, breaker_ms: 2_000, law: Law::Fixed, ..outage },
        OutageKnobs { base_ms: 20_000, ..outage },
    ] {
        let [run, file] = show.outage(&knobs);
        assert_eq!(run, Picture::outage_json(&knobs), "{knobs:?}");
        assert_eq!(file, knobs.file());
    }
    let shown = show.browser.eval("document.getElementById('proof').textContent");
    let first = Knobs { attempts: 8, outage_ms: 500, ..knobs };
    let digest = Picture::of(&first).unwrap().digest;
    assert!(shown.as_str().unwrap().contains(&digest), "{shown} is not {digest}");
}

#[test]
fn every_slider_is_reached_by_key_and_draws_while_it_moves() {
    let Some(mut show) = Show::begin("sliders") else { return };
    let sliders = SLIDERS.iter().flat_map(|(storm, sliders)| {
        sliders.iter().enumerate().map(move |(place, slider)| (storm, place, *slider))
    });
    for (storm, place, slider) in sliders {
        show.visit(storm);
        // The presets are one stop before the sliders.
        for _ in 0..place + 2 {
            show.press(TAB);
        }
        let at =
            show.browser.eval("[document.activeElement.id, document.activeElement.labels.length]");
        assert_eq!(at, json!([slider, 1]));
        let outline = show.browser.eval("getComputedStyle(document.activeElement).outlineStyle");
        assert_ne!(outline, "none", "{slider} shows no focus");
        let words = "document.activeElement.ariaValueText
            ?? document.activeElement.getAttribute('aria-valuetext')";
        for key in [RIGHT, END] {
            let before = (show.browser.eval(words), show.browser.eval(STRIPS));
            show.press(key);
            show.browser.eval(DRAWN);
            let after = (show.browser.eval(words), show.browser.eval(STRIPS));
            assert_ne!(before.0, after.0, "{slider} says the same");
            assert_ne!(before.1, after.1, "{slider} draws the same");
            let said = show.browser.eval("document.activeElement.parentElement.innerText");
            assert!(said.as_str().unwrap().contains(after.0.as_str().unwrap()), "{said}");
        }
    }
    assert_eq!(show.browser.problems(), [""; 0]);
}

#[test]
fn a_base_above_the_cap_takes_the_cap_along() {
    let Some(mut show) = Show::begin("agree") else { return };
    show.visit("base=100&cap=100");
    let drawn = show.browser.eval(
        "(() => {
            const base = document.getElementById('base');
            base.value = base.max;
            base.dispatchEvent(new Event('input'));
        })(), document.body.dataset.drawn = ''",
    );
    assert_eq!(drawn, "");
    let command = show.browser.eval(DRAWN);
    let command = command.as_str().unwrap();
    assert!(command.contains("--base 5s --cap 5s"), "{command}");
}

#[test]
fn the_page_looks_whole_in_every_window_and_asks_nobody() {
    let Some(mut show) = Show::begin("look") else { return };
    for (storm, settings) in STORMS {
        for (window, width, scheme) in WINDOWS {
            show.browser.set_window(width, scheme);
            show.visit(settings);
            assert_eq!(show.browser.problems(), [""; 0], "{storm} {window}");
            let room = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(show.browser.eval(room), true, "{storm} {window} is too wide");
            assert_eq!(show.browser.pale(), json!([]), "{storm} {window}");
            let asked =
                "performance.getEntriesByType('resource').map((e) => e.name.split('/').pop())";
            let asked = show.browser.eval(asked);
            let ours = |name: &Value| name == "lab.js" || name.as_str().unwrap().contains("svg");
            assert!(asked.as_array().unwrap().iter().all(ours), "{asked}");
            let file = show.pictures.join(format!("playground-{storm}-{window}.png"));
            fs::write(file, show.browser.picture()).unwrap();
        }
    }
}

#[test]
fn a_preset_had_no_verdict_or_one_without_its_condition() {
    let Some(mut show) = Show::begin("verdict") else { return };
    let stalled = "2\u{202f}800 attempts a second, more than it serves";
    for (storm, verdict, condition) in [
        ("", "With full jitter, all are served", "times what it can serve"),
        ("preset=stall", "it has not recovered", stalled),
        (
            "preset=stall&queue=200",
            "It recovers",
            "200 attempts wait at most, no more than the 500",
        ),
        ("preset=stall&tries=1", "It recovers", "700 attempts a second, no more than it serves"),
        (
            "preset=timeout",
            "it has not recovered",
            "than the 200 that are served within the timeout",
        ),
        ("preset=timeout&timeout=10000", "It recovers", "10\u{202f}000 that are served within"),
        ("preset=budget", "It recovers", "770 attempts a second, no more than it serves"),
        ("preset=budget&budget=0", "it has not recovered", stalled),
        ("preset=breaker", "It recovers", "while the breaker is open it drains"),
    ] {
        show.visit(storm);
        let answer = show.said("answer");
        assert!(answer.contains(verdict), "{storm}: {answer}");
        assert!(answer.contains(condition), "{storm}: {answer}");
    }
}

#[test]
fn a_remedy_that_was_pressed_had_no_slider() {
    let Some(mut show) = Show::begin("remedy") else { return };
    show.visit("preset=stall");
    let rows = show
        .browser
        .eval("[...document.querySelectorAll('#laws button')].map((b) => b.textContent)");
    let names = [
        "no retries",
        "retries alone",
        "budget of 10 %",
        "breaker, 2 s",
        "queue of 200",
        "all three",
    ];
    assert_eq!(rows, json!(names));
    let current =
        "[...document.querySelectorAll('tr[aria-current] button')].map((b) => b.textContent)";
    assert_eq!(show.browser.eval(current), json!(["retries alone"]));
    let before = show.browser.eval(STRIPS);
    show.browser.eval("document.querySelectorAll('#laws button')[2].click()");
    show.browser.eval(DRAWN);
    assert_eq!(show.browser.eval(current), json!(["budget of 10 %"]));
    assert_eq!(show.browser.eval("document.getElementById('budget').value"), json!("3"));
    assert_ne!(show.browser.eval(STRIPS), before);
    assert!(show.said("answer").contains("with a budget of 10 %"));
    assert!(show.said("file").contains("budget.window = { ratio = 0.10 }"));
    // A herd has neither remedies nor a file.
    show.browser.eval("document.getElementById('preset-herd').click()");
    show.browser.eval(DRAWN);
    assert_eq!(show.browser.eval("document.getElementById('files').hidden"), json!(true));
    assert!(show.said("command").starts_with("stagger storm herd"));
    assert_eq!(show.browser.problems(), [""; 0]);
}
