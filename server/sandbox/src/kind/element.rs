//! The steps of a path to a field, as server-side apply defines them.

use serde_json::{Map, Value};

/// A step from a field to one within it. The variants have the order in which `structured-merge-diff` visits them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    Name(String),
    /// An item of a list, by its keys as JSON.
    Key(String),
    /// A value of a set, as JSON.
    Value(String),
    /// A step of another form, as it was read.
    Other(String),
}

impl Element {
    /// Reads a step from FieldsV1.
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

    /// The step as error messages show it: `.spec`, `[name="main"]`, `[="x"]`.
    pub(crate) fn describe(&self) -> String {
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
