//! The pause that a server asks for: `Retry-After`, which is seconds or a date (RFC 9110, 10.2.3).
//!
//! A date is measured against the server's own clock where it shows one, since only the distance
//! matters. How much of the pause is granted is decided by who asks again.

use std::time::{Duration, SystemTime};

use super::Headers;

/// The pause that the headers of an answer ask for, if they do.
pub(crate) fn retry_after(headers: &Headers, now: SystemTime) -> Option<Duration> {
    let text = headers.get("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than can be counted are a pause without end, and not none.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = headers
        .get("date")
        .and_then(|date| httpdate::parse_http_date(date.trim()).ok())
        .unwrap_or(now);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ureq::http::HeaderMap;

    use super::*;

    fn asked(headers: &[(&'static str, &'static str)], now: SystemTime) -> Option<Duration> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        retry_after(&Headers::of(map), now)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_by_the_servers_clock() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let date = ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
        let seconds = Duration::from_secs;
        assert_eq!(asked(&[("retry-after", " 7 ")], now), Some(seconds(7)));
        assert_eq!(asked(&[date], now), Some(seconds(7)));
        let clock = ("date", "Sun, 06 Nov 1994 08:49:07 GMT");
        assert_eq!(asked(&[date, clock], now), Some(seconds(30)));
        assert_eq!(asked(&[date], now + seconds(60)), Some(seconds(0)));
        let older = [("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT")];
        assert_eq!(asked(&older, now), Some(seconds(7)));
        let endless = [("retry-after", "99999999999999999999999")];
        assert_eq!(asked(&endless, now), Some(seconds(u64::MAX)));
    }

    #[test]
    fn what_is_neither_asks_for_nothing() {
        for text in [
            "soon",
            "-1",
            "+1",
            "1.5",
            "",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 00 Nov 1994 08:00:00 GMT",
        ] {
            assert_eq!(asked(&[("retry-after", text)], SystemTime::now()), None, "{text}");
        }
        assert_eq!(asked(&[], SystemTime::now()), None);
    }
}
