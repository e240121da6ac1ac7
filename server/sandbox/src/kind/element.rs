//! The steps of a path to a field, as server-side apply has them.

use serde_json::{Map, Value};

/// How one gets from a field to one within it. The real one goes through them in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    Name(String),
    /// An item of a list, by its keys as JSON.
    Key(String),
    /// A value of a set, as JSON.
    Value(String),
    /// What nobody writes here, as it was read.
    Other(String),
}

impl Element {
    /// As FieldsV1 writes it.
    pub(crate) fn read(text: &str) -> Self {
        match text.split_once(':') {
            Some(("f", name)) => Self::Name(name.into()),
            Some(("k", keys)) => Self::Key(keys.into()),
            Some(("v", value)) => Self::Value(value.into()),
            _ => Self::Other(text.into()),
        }
    }

    pub(crate) fn written(&self) -> String {
        match self {
            Self::Name(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Other(text) => text.clone(),
        }
    }

    /// As it is told to people: `.spec`, `[name="main"]`, `[="x"]`.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Name(name) => format!(".{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs: Vec<_> =
                    keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("[{}]", pairs.join(","))
            }
            Self::Value(value) => format!("[={value}]"),
            Self::Other(text) => format!("[{}]", text.trim_start_matches("i:")),
        }
    }
}
