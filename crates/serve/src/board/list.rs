//! The list of runs: its page and its data.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use whetstone_record::error::ViewError;
use whetstone_record::overview::{Followed, Overview};
use whetstone_record::report::policy_hash;

use super::folder::Folder;
use super::{json, sentence};
use crate::http::Response;

const TEMPLATE: &str = include_str!("../../../../assets/board/list.html");
const STYLE: &str = concat!(
    include_str!("../../../../assets/report/style.css"),
    include_str!("../../../../assets/report/live.css"),
    include_str!("../../../../assets/board/list.css"),
);
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../../../../assets/report/dom.js"),
    include_str!("../../../../assets/board/list.js"),
    "})();\n",
);

/// The runs as of the last request, so that only new events are read.
#[derive(Debug, Default)]
pub(super) struct List {
    followed: Mutex<BTreeMap<String, Followed>>,
}

/// The data of the list.
#[derive(Serialize)]
struct Told {
    runs: Vec<Overview>,
    unreadable: Vec<Unreadable>,
}

#[derive(Serialize)]
struct Unreadable {
    name: String,
    error: String,
}

/// The page. It requests its data.
pub(super) fn page() -> Response {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; form-action 'none'",
        policy_hash(SCRIPT),
        policy_hash(STYLE)
    );
    let write = |out: &mut dyn Write| {
        let page = TEMPLATE.replace("@style@", STYLE).replace("@script@", SCRIPT);
        out.write_all(page.as_bytes())
    };
    Response::page(policy, Box::new(write))
}

impl List {
    /// The present state of the runs.
    pub(super) fn look(&self, folder: &Folder) -> Result<Response, ViewError> {
        // The lock is not held while reading: two concurrent requests both read what is new.
        let mut before = self.followed().clone();
        let mut followed = BTreeMap::new();
        let mut told = Told { runs: Vec::new(), unreadable: Vec::new() };
        for (name, view) in folder.runs()? {
            let known = before.remove(&name);
            let looked = view.and_then(|view| match known {
                Some(mut known) => known.update(&view).map(|()| known),
                None => Followed::new(&view),
            });
            match looked {
                Ok(run) => {
                    told.runs.push(Overview { name: name.clone(), ..run.overview().clone() });
                    followed.insert(name, run);
                }
                Err(err) => told.unreadable.push(Unreadable { name, error: sentence(&err) }),
            }
        }
        *self.followed() = followed;
        json(&told)
    }

    /// Held for a moment, never while something is read. A look that panicked left it whole.
    fn followed(&self) -> MutexGuard<'_, BTreeMap<String, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Body, Kind};

    #[test]
    fn the_policy_names_the_style_and_the_script_that_are_in_the_page() {
        let response = page();
        let Kind::Page { policy } = response.kind else { panic!("a page") };
        let Body::Streamed(write) = response.body else { panic!("a stream") };
        let mut text = Vec::new();
        write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let between =
            |open: &str, close: &str| text.split_once(open).unwrap().1.split_once(close).unwrap().0;
        assert!(policy.contains(&policy_hash(between("<script>", "</script>"))), "{policy}");
        assert!(policy.contains(&policy_hash(between("<style>", "</style>"))), "{policy}");
        for way in ["src=", "href=\"http", "@import", "url(", "innerHTML", "eval(", " onclick="] {
            assert!(!text.contains(way), "{way}");
        }
    }
}
