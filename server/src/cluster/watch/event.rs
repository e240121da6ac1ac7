//! The events of a watch, one per line.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use teardown::object::{Kind, Object, Uid};

use super::error::WatchError;
use crate::cluster::{convert, interner::Interner, status::Status, text::bounded};

/// One event of a watch.
pub(super) enum Event {
    /// The object and its resource version.
    Applied(Box<Object>, String),
    /// The UID of the deleted object and the resource version of the deletion.
    Deleted(Uid, String),
    Bookmark {
        version: String,
        ends_list: bool,
    },
    /// An object without a UID, which is stored nowhere.
    Nothing,
}

impl Event {
    /// Reads a line. An ERROR event becomes the error that it stands for.
    pub(super) fn read(
        line: &[u8],
        kind: &Arc<Kind>,
        names: &Interner,
    ) -> Result<Self, WatchError> {
        let unreadable = |error| WatchError::unreadable(&error);
        let Line { kind: of, object } = serde_json::from_slice(line).map_err(unreadable)?;
        let json = object.get();
        match of {
            LineKind::Added | LineKind::Modified => {
                let read = convert::object_and_version(kind, json, names).map_err(unreadable)?;
                Ok(read.map_or(Self::Nothing, |(object, version)| {
                    Self::Applied(Box::new(object), version)
                }))
            }
            LineKind::Deleted => {
                let (uid, version) = convert::uid_and_version(json).map_err(unreadable)?;
                Ok(uid.map_or(Self::Nothing, |uid| Self::Deleted(uid, version)))
            }
            LineKind::Bookmark => {
                let Mark { metadata } = serde_json::from_str(json).map_err(unreadable)?;
                let ends_list = metadata.annotations.ends.as_deref() == Some("true");
                Ok(Self::Bookmark { version: metadata.resource_version, ends_list })
            }
            LineKind::Error => {
                let status: Status = serde_json::from_str(json).map_err(unreadable)?;
                Err(match status.code {
                    410 => WatchError::TooOld,
                    403 => WatchError::Forbidden(bounded(&status.message).into()),
                    _ => WatchError::Failing(None, bounded(&status.message).into()),
                })
            }
        }
    }
}

/// `metav1.WatchEvent`.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: LineKind,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum LineKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

#[derive(Deserialize)]
struct Mark {
    metadata: MarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: MarkAnnotations,
}

#[derive(Default, Deserialize)]
struct MarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end", default)]
    ends: Option<String>,
}
