//! Times on the wire and on the disk: whole milliseconds since 1970. Jiff's own module for this names every way in which a
//! number can be wrong, which costs the browser's half seven kilobytes.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

fn of<E: Error>(millis: i64) -> Result<Timestamp, E> {
    Timestamp::from_millisecond(millis).map_err(|_| E::custom("no calendar has this time"))
}

/// A time that is always there.
pub mod required {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, of};

    /// Writes the time.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.as_millisecond())
    }

    /// Reads a time.
    ///
    /// # Errors
    /// If it is no integer, or beyond the calendar.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        of(i64::deserialize(deserializer)?)
    }
}

/// A time that may be missing, as `null`.
pub mod optional {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, of};

    /// Writes the time or `null`.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&at.as_millisecond()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a time or `null`.
    ///
    /// # Errors
    /// If it is neither, or beyond the calendar.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Option::<i64>::deserialize(deserializer)?.map(of).transpose()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Times {
        #[serde(with = "super::required")]
        a: Timestamp,
        #[serde(with = "super::optional")]
        b: Option<Timestamp>,
    }

    #[test]
    fn times_are_milliseconds_and_a_time_beyond_the_calendar_is_refused() {
        let times = Times { a: Timestamp::from_millisecond(-1).unwrap(), b: None };
        let text = r#"{"a":-1,"b":null}"#;
        assert_eq!(serde_json::to_string(&times).unwrap(), text);
        assert_eq!(serde_json::from_str::<Times>(text).unwrap(), times);
        let error =
            serde_json::from_str::<Times>(r#"{"a":9223372036854775807,"b":1}"#).unwrap_err();
        assert!(error.to_string().starts_with("no calendar has this time"), "{error}");
    }
}
