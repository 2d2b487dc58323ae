//! The address of chat completions, from what people write for it.
//!
//! Clients of OpenAI take a base address, which ends in `/v1`, and append `/chat/completions`; others want the whole
//! one. Both are taken here, with or without a slash at the end, and a machine alone, which means `/v1` on it. An
//! address with any other path is the whole one.

use super::CHAT;

/// The whole address that `given` means.
pub(super) fn whole(given: &str) -> String {
    let given = given.trim();
    let (address, query) = match given.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (given, String::new()),
    };
    let Some((scheme, rest)) = address.split_once("://") else { return given.to_owned() };
    let rest = rest.trim_end_matches('/');
    if rest.is_empty() {
        return given.to_owned();
    }
    let added = match rest.split_once('/') {
        None => "/v1",
        Some((_, path)) if is_base(path) => "",
        Some(_) => return given.to_owned(),
    };
    format!("{scheme}://{rest}{added}{CHAT}{query}")
}

/// Whether a path is one that clients append to: it ends in a version, or in that version's `openai`.
fn is_base(path: &str) -> bool {
    let mut segments = path.rsplit('/');
    let is_version = |segment: &str| {
        segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match segments.next() {
        Some("openai") => segments.next().is_some_and(is_version),
        last => last.is_some_and(is_version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(whole(given), expected);
        assert_eq!(whole(expected), expected, "the whole address stays");
    }

    #[test]
    fn a_base_address_gets_the_path_of_chat_completions() {
        for base in ["http://h:81", "http://h:81/", "http://h:81/v1", "http://h:81/v1/"] {
            check(base, "http://h:81/v1/chat/completions");
        }
        check("https://h/api/v1", "https://h/api/v1/chat/completions");
        check("https://h/api/paas/v4/", "https://h/api/paas/v4/chat/completions");
        check("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions");
        check("https://h/v1?k=2", "https://h/v1/chat/completions?k=2");
    }

    #[test]
    fn another_path_is_the_whole_address() {
        for given in [
            "http://h/v1/chat/completions",
            "http://h/v1/chat/completions/",
            "http://h/deployments/m/chat/completions?api-version=1",
            "http://h/generate",
            "http://h/openai",
            "http://h/video",
            "localhost:8129",
            "http://",
            "",
        ] {
            check(given, given);
        }
    }
}
