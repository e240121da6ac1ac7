//! `metadata.uid`.

use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::{Uuid, fmt::Hyphenated};

/// `metadata.uid`: the identity of an object. If a name is used again, the new object has another UID.
///
/// Kubernetes creates UIDs as UUIDs but only promises a string, so both forms are supported, and each is written back
/// unchanged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uid(Form);

/// A text that is not a UUID in its usual form must not become [`Form::Uuid`], because two equal UIDs must be equal as
/// texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Uuid(Uuid),
    Text(Arc<str>),
}

impl Uid {
    /// The UID as the API server wrote it.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let mut buffer = Uuid::encode_buffer();
        Self(match Uuid::try_parse(text) {
            Ok(uuid) if *uuid.as_hyphenated().encode_lower(&mut buffer) == *text => {
                Form::Uuid(uuid)
            }
            _ => Form::Text(text.into()),
        })
    }
}

impl Hash for Uid {
    /// A derived hash of a UUID would be of twice as many bytes, and every look at an object hashes a UID.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Form::Uuid(uuid) => state.write_u128(uuid.as_u128()),
            Form::Text(text) => text.hash(state),
        }
    }
}

/// Hashes UIDs faster than std does. Nobody can choose UIDs that collide: the API server makes them of random bits.
pub(crate) type UidHasher = foldhash::fast::RandomState;

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Uuid(uuid) => {
                f.write_str(uuid.as_hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]))
            }
            Form::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({:?})", self.to_string())
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_back_unchanged() {
        let texts = [
            "0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f",
            "0B51C9D1-77AA-4C1E-9F8A-1F2F3F4F5F6F",
            "0b51c9d177aa4c1e9f8a1f2f3f4f5f6f",
            "{0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f}",
            "urn:uuid:0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f",
            "web-1 \"ü\"",
            "",
        ];
        let all: std::collections::HashSet<Uid> = texts.into_iter().map(Uid::new).collect();
        assert_eq!(all.len(), texts.len(), "no two of them are equal");
        for text in texts {
            assert_eq!(Uid::new(text).to_string(), text);
            let json = serde_json::to_string(&Uid::new(text)).unwrap();
            assert_eq!(json, serde_json::to_string(text).unwrap());
            assert_eq!(serde_json::from_str::<Uid>(&json).unwrap(), Uid::new(text));
        }
    }

    #[test]
    fn usual_uid_needs_no_allocation() {
        assert!(matches!(Uid::new("0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f").0, Form::Uuid(_)));
        assert_eq!(size_of::<Uid>(), 24);
    }
}
