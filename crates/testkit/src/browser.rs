//! A browser, driven by the DevTools protocol over its standard streams.
//!
//! Whatever goes wrong with the browser itself ends the test: each method panics then.
#![expect(clippy::missing_panics_doc, reason = "said once, above")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

/// Finds the texts of [`Browser::pale`].
const PALE: &str = "(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map((n) => n / 255)
        .map((n) => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4)
        .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const colour = rgba(getComputedStyle(e).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255];
    };
    const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    return [...document.body.querySelectorAll(':not(script)')].filter(own).filter((e) => {
        const [a, b] = [rgba(getComputedStyle(e).color), ground(e)].map(light);
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
    }).map((e) => e.outerHTML.slice(0, 120));
})()";

/// The browser's events at each stage of a document's life.
const LIFECYCLE: &str = "Page.lifecycleEvent";
/// Focus comes with the first frame or the second; what has not come after so many never will.
const MAX_FRAMES: usize = 100;

/// The longest silence of a browser that has something to answer: a slow machine takes seconds for a page.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The most messages before a page is loaded: the largest page of the tests has some hundred.
const MAX_EVENTS: usize = 10_000;

/// The reason why calls to the browser succeed: no test kills it.
const ALIVE: &str = "the browser is alive";

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    session: Option<String>,
    sent: u64,
    events: Vec<Value>,
    /// The document that is shown: each one that is loaded has another name.
    document: Value,
}

impl Browser {
    /// Starts it with its profile in `folder`, with one page.
    pub fn start(folder: &Path) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/chromium");
        let mut command = Command::new(script);
        command.arg("drive").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("scripts/chromium runs");
        let input = child.stdin.take();
        let output = messages(child.stdout.take().expect("it is piped"));
        let events = Vec::new();
        let document = Value::Null;
        let mut browser = Self { child, input, output, session: None, sent: 0, events, document };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        let tree = browser.call("Page.getFrameTree", json!({}));
        browser.document = tree["frameTree"]["frame"]["loaderId"].clone();
        browser
    }

    /// Sends a command, and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let input = self.input.as_mut().expect("it is taken by drop alone");
        write!(input, "{command}\0").expect(ALIVE);
        input.flush().expect(ALIVE);
        loop {
            let message = self.read(method);
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Loads a page, and waits until it is there.
    pub fn visit(&mut self, url: &str) {
        self.until_loaded(|browser| {
            browser.call("Page.navigate", json!({"url": url}));
        });
    }

    /// Does something that loads a page, and waits until it is there.
    ///
    /// The load event of the page before may come late, so it is told from that of the new one.
    pub fn until_loaded(&mut self, act: impl FnOnce(&mut Self)) {
        self.events.retain(|event| event["method"] != LIFECYCLE);
        act(self);
        let mut seen = 0;
        for _ in 0..MAX_EVENTS {
            while let Some(event) = self.events.get(seen) {
                seen += 1;
                let stage = &event["params"];
                let is_new = stage["loaderId"] != self.document;
                if event["method"] == LIFECYCLE && stage["name"] == "load" && is_new {
                    self.document = stage["loaderId"].clone();
                    return;
                }
            }
            let event = self.read("the load event of the page");
            self.events.push(event);
        }
        panic!("the page is not loaded after {MAX_EVENTS} messages of the browser");
    }

    /// Draws the page until an expression has a value: for what comes with a frame, as focus does.
    pub fn until(&mut self, code: &str, value: &Value) {
        let mut last = Value::Null;
        for _ in 0..MAX_FRAMES {
            last = self.eval(code);
            if last == *value {
                return;
            }
            self.draw();
        }
        panic!("{code} is {last} after {MAX_FRAMES} frames, not {value}");
    }

    /// The value of an expression in the page; of what it promises, once it is there.
    pub fn eval(&mut self, code: &str) -> Value {
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{code}: {result}");
        result["result"]["value"].clone()
    }

    /// The value of an expression in a frame of another site, whose address begins with `prefix`; none if there is no such
    /// frame, or it is not loaded yet.
    pub fn eval_in_frame(&mut self, prefix: &str, code: &str) -> Option<Value> {
        let page = self.session.take();
        let listed = self.call("Target.getTargets", json!({}));
        let is_frame = |target: &&Value| {
            target["type"] == "iframe"
                && target["url"].as_str().is_some_and(|url| url.starts_with(prefix))
        };
        let found = listed["targetInfos"].as_array().and_then(|all| all.iter().find(is_frame));
        let value = found.map(|target| {
            let attach = json!({"targetId": target["targetId"], "flatten": true});
            let session = self.call("Target.attachToTarget", attach)["sessionId"].clone();
            self.session = session.as_str().map(str::to_owned);
            let loaded = format!("document.readyState === 'complete' ? ({code}) : null");
            let value = self.eval(&loaded);
            self.session = None;
            self.call("Target.detachFromTarget", json!({"sessionId": session}));
            value
        });
        self.session = page;
        value.filter(|value| !value.is_null())
    }

    /// Draws the page until an expression in a frame has a value, as [`eval_in_frame`](Self::eval_in_frame) says.
    pub fn until_in_frame(&mut self, prefix: &str, code: &str) -> Value {
        for _ in 0..MAX_FRAMES {
            if let Some(value) = self.eval_in_frame(prefix, code) {
                return value;
            }
            self.draw();
        }
        panic!("{code} has no value in a frame of {prefix}");
    }

    /// Lets pages run scripts, or none.
    pub fn allow_scripts(&mut self, allowed: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !allowed}));
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Sets the width of the window, and the colours that its user likes.
    pub fn set_window(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let likes = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": likes}));
    }

    /// A picture of the whole page, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", params);
        let data = picture["data"].as_str().expect("a picture is a text");
        BASE64_STANDARD.decode(data).expect("in base64")
    }

    /// The errors, warnings and refusals by the policy in pages since this was last asked.
    pub fn problems(&mut self) -> Vec<String> {
        let (problems, rest) = self.events.drain(..).partition::<Vec<_>, _>(is_problem);
        self.events = rest;
        problems.iter().map(Value::to_string).collect()
    }

    /// Elements of the page whose text is hard to read: less contrast than 4.5 (WCAG 2.2, 1.4.3).
    pub fn pale(&mut self) -> Value {
        self.eval(PALE)
    }

    /// Draws a frame.
    fn draw(&mut self) {
        let clip = json!({"x": 0, "y": 0, "width": 1, "height": 1, "scale": 1});
        self.call("Page.captureScreenshot", json!({"clip": clip}));
    }

    fn read(&self, awaited: &str) -> Value {
        let message = next_message(&self.output, MAX_SILENCE, awaited);
        serde_json::from_slice(&message).expect("the protocol speaks JSON")
    }
}

/// The next message of a browser; `awaited` names what it is read for.
fn next_message(output: &Receiver<Vec<u8>>, limit: Duration, awaited: &str) -> Vec<u8> {
    output.recv_timeout(limit).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => {
            panic!("the browser hangs: it has sent nothing for {limit:?}, waiting for {awaited}")
        }
        RecvTimeoutError::Disconnected => panic!("the browser has ended, waiting for {awaited}"),
    })
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends with its input, unless it hangs: then the test is failing already.
        self.input.take();
        if thread::panicking() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The messages of a browser, read by a thread until it ends: reading a pipe has no time limit.
fn messages(output: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, messages) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut message = Vec::new();
            let read = output.read_until(0, &mut message);
            // What does not end with a zero byte is no message: the browser has ended.
            if read.is_err() || message.pop() != Some(0) || sender.send(message).is_err() {
                return;
            }
        }
    });
    messages
}

fn is_problem(event: &Value) -> bool {
    let loud = |level: &Value| level == "error" || level == "warning";
    match event["method"].as_str() {
        Some("Runtime.exceptionThrown") => true,
        Some("Runtime.consoleAPICalled") => loud(&event["params"]["type"]),
        Some("Log.entryAdded") => loud(&event["params"]["entry"]["level"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the browser hangs: it has sent nothing for 1ms, waiting for a page")]
    fn a_browser_that_hangs_held_its_test_up_forever() {
        let (_sender, output) = channel();
        next_message(&output, Duration::from_millis(1), "a page");
    }

    #[test]
    #[should_panic(expected = "the browser has ended, waiting for a page")]
    fn a_browser_that_ends_within_a_message_was_waited_for() {
        let mut command = Command::new("printf");
        let child = command.arg("{}\\0{\"id\"").stdout(Stdio::piped()).spawn();
        let mut child = child.expect("there is a printf");
        let output = messages(child.stdout.take().expect("it is piped"));
        assert_eq!(next_message(&output, MAX_SILENCE, "an object"), b"{}");
        child.wait().expect("it was not waited for before");
        next_message(&output, MAX_SILENCE, "a page");
    }
}
