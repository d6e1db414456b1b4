//! A browser, driven by the DevTools protocol over its standard streams.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

pub(crate) struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    events: Vec<Value>,
}

impl Browser {
    /// Starts it with its profile in `folder`, with one page.
    pub(crate) fn start(folder: &Path) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/chromium");
        let mut command = Command::new(script);
        command.arg("drive").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Self { child, input, output, session: None, sent: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command, and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let input = self.input.as_mut().unwrap();
        write!(input, "{command}\0").unwrap();
        input.flush().unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Loads a page, and waits until it is there.
    pub(crate) fn visit(&mut self, url: &str) {
        self.until_loaded(|browser| {
            browser.call("Page.navigate", json!({"url": url}));
        });
    }

    /// Does something that loads a page, and waits until it is there.
    pub(crate) fn until_loaded(&mut self, act: impl FnOnce(&mut Self)) {
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        self.events.retain(|event| !is_loaded(event));
        act(self);
        while !self.events.iter().any(is_loaded) {
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page; of what it promises, once it is there.
    pub(crate) fn eval(&mut self, code: &str) -> Value {
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{code}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Sets the width of the window, and the colours that its user likes.
    pub(crate) fn set_window(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let likes = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": likes}));
    }

    /// A picture of the whole page, as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", params);
        BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }

    /// What went wrong in pages since this was last asked: errors, warnings, refusals by the policy.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        let (problems, rest) = self.events.drain(..).partition::<Vec<_>, _>(is_problem);
        self.events = rest;
        problems.iter().map(Value::to_string).collect()
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.output.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends with its input.
        self.input.take();
        let _ = self.child.wait();
    }
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
