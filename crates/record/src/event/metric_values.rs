//! Metrics as JSON, those that are not finite included: `{"loss":"nan","lr":1e-6}`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names of the numbers JSON has no word for.
const NAN: &str = "nan";
const INFINITY: &str = "inf";
const NEG_INFINITY: &str = "-inf";

struct Metric(f64);

pub(super) fn serialize<S: Serializer>(
    values: &BTreeMap<String, f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, &value)| (name, Metric(value))))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let values = BTreeMap::<String, Metric>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|(name, Metric(value))| (name, value)).collect())
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_finite() => serializer.serialize_f64(value),
            value if value.is_nan() => serializer.serialize_str(NAN),
            value if value > 0.0 => serializer.serialize_str(INFINITY),
            _ => serializer.serialize_str(NEG_INFINITY),
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetricNumber;

        impl Visitor<'_> for MetricNumber {
            type Value = Metric;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number, `{NAN}`, `{INFINITY}` or `{NEG_INFINITY}`")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Metric, E> {
                Ok(Metric(value))
            }

            #[expect(clippy::cast_precision_loss, reason = "a metric is a float, however written")]
            fn visit_u64<E: Error>(self, value: u64) -> Result<Metric, E> {
                Ok(Metric(value as f64))
            }

            #[expect(clippy::cast_precision_loss, reason = "a metric is a float, however written")]
            fn visit_i64<E: Error>(self, value: i64) -> Result<Metric, E> {
                Ok(Metric(value as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Metric, E> {
                match text {
                    NAN => Ok(Metric(f64::NAN)),
                    INFINITY => Ok(Metric(f64::INFINITY)),
                    NEG_INFINITY => Ok(Metric(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(MetricNumber)
    }
}
