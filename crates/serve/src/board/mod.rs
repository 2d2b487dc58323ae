//! The board: the runs of a folder, and the page of each, as they are now.
//!
//! ```text
//! /                     the list of runs, a page
//! /list                 what it shows, JSON
//! /runs/NAME            the page of a run, as `whet report` makes it, and a script that asks for more
//! /runs/NAME/feed       what is new behind a cursor, JSON
//! ```
//!
//! Every response is read from disk when it is requested. The only state is the read position of
//! the list.
//!
//! Not here: the content of a page (`whetstone_record::report`, `assets/report/`), and any change
//! to a run.

mod folder;
mod list;
mod route;

use std::io;
use std::path::Path;

use serde::Serialize;
use whetstone_core::with_causes;
use whetstone_record::error::{FileError, ViewError};
use whetstone_record::report::live::{self, Cursor, LivePage, news};

use self::folder::Folder;
use self::list::List;
use self::route::{Route, route};
use crate::http::{Request, Response};

/// A board of the runs in one folder.
#[derive(Debug)]
pub struct Board {
    folder: Folder,
    list: List,
}

/// The response to a page whose run was replaced by another one with the same name.
#[derive(Serialize)]
struct Moved {
    moved: bool,
}

impl Board {
    /// A board of the runs in `root`, which must be there.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        Ok(Self { folder: Folder::open(root)?, list: List::default() })
    }

    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Response {
        match route(&request.path, &request.query) {
            Some(Route::List) => list::page(),
            Some(Route::ListNow) => told(self.list.look(&self.folder)),
            Some(Route::Run(name)) => told(self.page(name)),
            Some(Route::Feed { name, cursor, texts }) => told(self.feed(name, &cursor, texts)),
            None => Response::not_found(),
        }
    }

    fn page(&self, name: &str) -> Result<Response, ViewError> {
        let page = LivePage::read(&self.folder.run(name)?)?;
        let write = move |out: &mut dyn io::Write| page.write(out).map_err(io::Error::other);
        Ok(Response::page(live::policy(), Box::new(write)))
    }

    fn feed(&self, name: &str, cursor: &Cursor, texts: live::Texts) -> Result<Response, ViewError> {
        match news(&self.folder.run(name)?, cursor, texts)? {
            Some(news) => json(&news),
            None => json(&Moved { moved: true }),
        }
    }
}

fn json(value: &impl Serialize) -> Result<Response, ViewError> {
    Ok(Response::json(serde_json::to_vec(value).map_err(io::Error::from)?))
}

/// The response, or an error as a sentence.
fn told(answer: Result<Response, ViewError>) -> Response {
    answer.unwrap_or_else(|err| {
        let status = if matches!(err, ViewError::Run(_)) { 404 } else { 500 };
        Response::sentence(status, &sentence(&err))
    })
}

/// The text of an error with its causes, without control characters.
fn sentence(err: &ViewError) -> String {
    let text = with_causes(err);
    let hint = err.hint().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{text}{hint}").replace(char::is_control, "\u{fffd}")
}
