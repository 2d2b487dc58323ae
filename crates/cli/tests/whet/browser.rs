//! A headless Chromium, driven over two pipes: a JSON message each way, ended by a zero byte.
//!
//! No socket and no port: `--remote-debugging-pipe` reads from descriptor 3 and writes to 4, to which
//! a shell moves the child's standard streams. Every answer has a limit of time, after which the test
//! fails instead of hanging.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What a browser that we can drive is called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Nothing that is asked takes longer, even on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// A script that is done when the page says that it is drawn.
const DRAWN: &str = "new Promise((done) => { const root = document.documentElement; \
    const look = () => root.dataset.ready && done(root.dataset.ready); look(); \
    new MutationObserver(look).observe(root, { attributes: true }); })";

/// A running browser with one page.
pub(crate) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    asked: u64,
    /// What the browser said without being asked.
    pub(crate) events: VecDeque<Value>,
    _profile: TempDir,
}

/// A browser; if there is none, prints why.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: none of {} is installed", NAMES.join(", "));
    }
    found
}

impl Browser {
    /// Starts a browser and opens an empty page in it.
    pub(crate) fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut child = Command::new("sh")
            .args(["-c", "exec 3<&0 4>&1 </dev/null >/dev/null; exec \"$@\"", "sh"])
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run"])
            // The tests may run as root in a container, where the browser's own jail cannot be built.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--disable-extensions"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let requests = child.stdin.take().expect("a pipe");
        let answers = listen(child.stdout.take().expect("a pipe"));
        let (events, session) = (VecDeque::new(), None);
        let mut browser =
            Self { child, requests, answers, session, asked: 0, events, _profile: profile };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let how = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.ask("Target.attachToTarget", &how);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.ask(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Asks for something and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let bytes = [message.to_string().as_bytes(), b"\0"].concat();
        self.requests.write_all(&bytes).expect("the browser listens");
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.next(end);
            if answer["id"] == self.asked {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    /// Opens a file and waits until it is drawn.
    pub(crate) fn open(&mut self, page: &Path) {
        let page = page.canonicalize().expect("a page");
        self.visit(&format!("file://{}", page.display()));
    }

    /// Opens an address and waits until its page is drawn.
    pub(crate) fn visit(&mut self, url: &str) {
        self.events.clear();
        let moved = self.ask("Page.navigate", &json!({"url": url}));
        assert!(moved.get("errorText").is_none(), "{moved}");
        self.wait_for("Page.loadEventFired");
        assert_eq!(self.value(DRAWN), "true", "{:?}", self.events);
    }

    /// Waits until the page has loaded itself again, and is drawn.
    pub(crate) fn wait_for_reload(&mut self) {
        self.events.clear();
        self.wait_for("Page.loadEventFired");
        assert_eq!(self.value(DRAWN), "true", "{:?}", self.events);
    }

    fn wait_for(&mut self, event: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.events.iter().any(|sent| sent["method"] == event) {
            let next = self.next(end);
            self.events.push_back(next);
        }
    }

    /// What the browser says next. A page that is never quiet does not put off the end.
    fn next(&mut self, end: Instant) -> Value {
        let left = end.saturating_duration_since(Instant::now());
        self.answers.recv_timeout(left).expect("the browser answers in time")
    }

    /// The value of an expression in the page; promises are waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let how = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let found = self.ask("Runtime.evaluate", &how);
        assert!(found.get("exceptionDetails").is_none(), "{expression}: {found}");
        found["result"].get("value").cloned().unwrap_or(Value::Null)
    }

    /// Waits until a condition holds in the page, which changes by itself.
    pub(crate) fn wait_until(&mut self, condition: &str) {
        self.value(&format!(
            "new Promise((done) => {{ const seen = new MutationObserver(() => look()); \
             const look = () => {{ if ({condition}) {{ seen.disconnect(); done(true); }} }}; \
             seen.observe(document, {{ subtree: true, childList: true, attributes: true, \
             characterData: true }}); look(); }})"
        ));
    }

    /// A screen of another width and colour scheme.
    pub(crate) fn look(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", &json!({"features": feature}));
    }

    /// Presses a key other than a letter.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
    }

    /// Errors in the console and exceptions since the page was opened.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "info",
            _ => false,
        };
        self.events.iter().filter(bad).map(|event| event["params"].to_string()).collect()
    }

    /// Everything that the page asked for beside itself.
    pub(crate) fn requests(&self, page: &Path) -> Vec<String> {
        let own = page.canonicalize().expect("a page").display().to_string();
        self.asked_for().filter(|url| *url != format!("file://{own}")).collect()
    }

    /// Every address that the page asked for.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = String> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].to_string().replace('"', ""))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It is gone, or it will be: what it left is in its profile, which goes too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads messages in a thread of its own, so that waiting for one can end.
fn listen(output: impl std::io::Read + Send + 'static) -> Receiver<Value> {
    let (sender, answers) = channel();
    thread::spawn(move || {
        for message in BufReader::new(output).split(0) {
            let message = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let Some(message) = message else { return };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    answers
}
