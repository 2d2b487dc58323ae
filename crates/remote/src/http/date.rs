//! A date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7, IMF-fixdate).
//!
//! The two older forms of the standard are not read: no server of chat completions sends them,
//! and a date that is not understood only means that our own pause is used.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The moment that `text` names, if it is a date since 1970.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (_day_name, rest) = text.trim().split_once(", ")?;
    let parts: Vec<&str> = rest.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year) = (number(day, 31)?, number(year, 9999)?);
    let time = number(hour, 23)? * 3600 + number(minute, 59)? * 60 + number(second, 60)?;
    let days = days_since_1970(year, month, day)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(days * 86_400 + time))
}

fn number(text: &str, most: u64) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&n| is_digits && n <= most)
}

/// Days in the Gregorian calendar: the year is counted from March, so that a leap day is its last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let in_year = (153 * month + 2) / 5 + day.checked_sub(1)?;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + in_year;
    // Days from 1 March of the year 0 to 1 January 1970.
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(parse(text).map(|time| since(time).as_secs()), expected, "{text}");
    }

    /// Seconds by `date -u -d '…' +%s`.
    #[test]
    fn dates_are_read_as_the_standard_writes_them() {
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199));
        check("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800));
        check("Sun, 15 Nov 2026 12:00:00 GMT", Some(1_794_744_000));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "soon",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 00 Nov 1994 08:00:00 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
        ] {
            check(text, None);
        }
    }
}
