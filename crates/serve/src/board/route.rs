//! Routes of the board.

use whetstone_record::report::live::{Cursor, Texts};

/// The resource of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// The page with all runs.
    List,
    /// The data of the list.
    ListNow,
    /// The page of a run.
    Run(&'a str),
    /// Updates of a run.
    Feed { name: &'a str, cursor: Cursor, texts: Texts },
}

/// The resource of a path and a query, if there is one.
pub(super) fn route<'a>(path: &'a str, query: &str) -> Option<Route<'a>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').take(4).collect();
    match (&parts[..], query) {
        ([""], "") => Some(Route::List),
        (["list"], "") => Some(Route::ListNow),
        (["runs", name], "") => Some(Route::Run(name)),
        (["runs", name, "feed"], query) => {
            let (cursor, texts) = match query.strip_suffix("&texts=none") {
                Some(rest) => (rest, Texts::LeftOut),
                None => (query, Texts::Sent),
            };
            let cursor = cursor.strip_prefix("from=")?.parse().ok()?;
            Some(Route::Feed { name, cursor, texts })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_one_path() {
        let start = "0-0-.0-00000000.0-0-.0-0-.00000000";
        assert_eq!(route("/", ""), Some(Route::List));
        assert_eq!(route("/list", ""), Some(Route::ListNow));
        assert_eq!(route("/runs/a", ""), Some(Route::Run("a")));
        let feed = |texts| Route::Feed { name: "a", cursor: start.parse().unwrap(), texts };
        assert_eq!(route("/runs/a/feed", &format!("from={start}")), Some(feed(Texts::Sent)));
        let none = format!("from={start}&texts=none");
        assert_eq!(route("/runs/a/feed", &none), Some(feed(Texts::LeftOut)));
        let others = [
            ("//", ""),
            ("/?", "x"),
            ("/list/", ""),
            ("/runs", ""),
            ("/runs/a/", ""),
            ("/runs/a", "from=1"),
            ("/runs/a/feed", ""),
            ("/runs/a/feed", "from="),
            ("/runs/a/feed", "from=1&texts=none"),
            ("/runs/a/feed/b", ""),
            ("/runs/a/events.jsonl", ""),
            ("runs/a", ""),
            ("", ""),
        ];
        for (path, query) in others {
            assert_eq!(route(path, query), None, "{path}?{query}");
        }
    }
}
