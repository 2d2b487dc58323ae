//! How completions are decoded: sampled at a temperature, or greedily, which is temperature 0.
//!
//! The name of a decoding (`T=0.6`, `greedy`) is its key in files and its label in tables. The highest temperature comes
//! first, and greedy decoding last.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of temperature 0.
const GREEDY: &str = "greedy";

/// The prefix of every other name.
const PREFIX: &str = "T=";

/// A temperature that completions are decoded with.
#[derive(Debug, Clone, Copy)]
pub struct Decoding {
    temperature: f64,
}

impl Decoding {
    /// The likeliest token at every place.
    pub const GREEDY: Self = Self { temperature: 0.0 };

    /// Decoding at a temperature; 0 is greedy. `None` if it is not a temperature.
    pub fn at(temperature: f64) -> Option<Self> {
        // Without the sign of a negative zero, so that there is one greedy decoding.
        (temperature.is_finite() && temperature >= 0.0)
            .then_some(Self { temperature: temperature + 0.0 })
    }

    /// The temperature.
    pub fn temperature(self) -> f64 {
        self.temperature
    }
}

impl fmt::Display for Decoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::GREEDY {
            f.pad(GREEDY)
        } else {
            f.pad(&format!("{PREFIX}{}", self.temperature))
        }
    }
}

impl FromStr for Decoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let number = || name.strip_prefix(PREFIX)?.parse().ok();
        let found = if name == GREEDY { Some(Self::GREEDY) } else { number().and_then(Self::at) };
        found.ok_or_else(|| format!("`{name}` is neither `greedy` nor a temperature like `T=0.6`"))
    }
}

impl Ord for Decoding {
    fn cmp(&self, other: &Self) -> Ordering {
        other.temperature.total_cmp(&self.temperature)
    }
}

impl PartialOrd for Decoding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decoding {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decoding {}

impl Serialize for Decoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decoding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_decoding_is_a_key_of_json_and_the_highest_temperature_comes_first() {
        let all = [0.6, 0.0, 1.0, -0.0, 0.25].map(|value| (Decoding::at(value).unwrap(), 0));
        let map: BTreeMap<Decoding, u8> = all.into();
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, r#"{"T=1":0,"T=0.6":0,"T=0.25":0,"greedy":0}"#);
        assert_eq!(serde_json::from_str::<BTreeMap<Decoding, u8>>(&text).unwrap(), map);
    }

    #[test]
    fn what_is_no_temperature_is_refused() {
        for value in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Decoding::at(value), None, "{value}");
        }
        for name in ["", "0.6", "T=", "T=-1", "T=NaN", "T=inf", "Greedy"] {
            assert!(name.parse::<Decoding>().is_err(), "{name}");
        }
    }
}
