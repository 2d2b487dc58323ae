//! Any text as an address, a redirect or a `Retry-After`: nothing panics, no password and no query is
//! shown, and a redirect that counts as the hub's own leads to the hub's machine, since our token
//! goes there.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use whetstone_remote::fuzzing::{own_address, pause};
use whetstone_remote::http::Address;
use whetstone_remote::hub::HubSettings;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |&byte| byte == b'\n');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let Some(asked) = pause(first, second) {
        // A date has four digits for its year; more than that is a number that was written out.
        let longest = Duration::from_secs(8030 * 366 * 86_400);
        assert!(asked <= longest || first.trim_ascii().iter().all(u8::is_ascii_digit));
    }
    let (Ok(first), Ok(second)) = (std::str::from_utf8(first), std::str::from_utf8(second)) else {
        return;
    };
    match Address::parse(first) {
        Ok(address) => {
            let shown = address.shown();
            assert!(!shown.contains(['?', '#']), "{shown}");
            if let Some(beside) = address.beside("/chat/completions", "/models") {
                let beside = Address::parse(&beside).expect("an address");
                assert_eq!(machine(beside.as_str()), machine(first));
            }
            redirects(first, second);
        }
        Err(err) => assert!(!err.to_string().chars().any(char::is_control), "{err:?}"),
    }
});

fn redirects(endpoint: &str, location: &str) {
    let variable = |name: &str| match name {
        "HOME" => Some("/nowhere".to_owned()),
        "HF_ENDPOINT" => Some(endpoint.to_owned()),
        _ => None,
    };
    let settings = HubSettings::from_variables(variable).expect("a folder for the cache");
    let Some(own) = own_address(&settings, location) else { return };
    if Address::parse(&own).is_ok() {
        assert_eq!(machine(&own), machine(endpoint), "{own}");
    }
}

/// Scheme and authority, as a reader who knows nothing of URLs but their order sees them.
fn machine(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("an absolute address");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    format!("{scheme}://{}", &rest[..end]).to_ascii_lowercase()
}
