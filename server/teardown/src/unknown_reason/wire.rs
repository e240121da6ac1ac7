//! A reason as it travels and as the journal keeps it: its name, and beside it the parameters that this reason has. One
//! struct, because the code that reads an enum whose variants have fields would cost the page four kilobytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{UnconfirmedObject, UnknownReason};
use crate::{api_problem::ApiProblem, object::ObjectRef};

/// The name of a reason and its parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FlatReason {
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<ApiProblem>,
    /// The Pod, the user, the object that would go, the volume or the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Box<ObjectRef>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<UnconfirmedObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<Arc<str>>,
}

impl FlatReason {
    fn named(code: &str) -> Self {
        Self { code: code.to_owned(), ..Self::default() }
    }

    fn of(code: &str, object: ObjectRef) -> Self {
        Self { object: Some(object), ..Self::named(code) }
    }
}

impl From<UnknownReason> for FlatReason {
    fn from(reason: UnknownReason) -> Self {
        match reason {
            UnknownReason::Hidden { resource, namespace, message } => Self {
                resource: Some(resource),
                namespace,
                message: Some(message),
                ..Self::named("hidden")
            },
            UnknownReason::NotListed { resource } => {
                Self { resource: Some(resource), ..Self::named("notListed") }
            }
            UnknownReason::NotServed { resource } => {
                Self { resource: Some(resource), ..Self::named("notServed") }
            }
            UnknownReason::PodsLeft { pod, of } => {
                Self { of: Some(of), ..Self::of("podsLeft", pod) }
            }
            UnknownReason::Unconfirmed { objects } => {
                Self { pods: objects, ..Self::named("podsUnconfirmed") }
            }
            UnknownReason::StillAttached { volume, node } => {
                Self { volume: Some(volume), node: Some(node), ..Self::named("stillAttached") }
            }
            UnknownReason::GivenAway { to } => Self { to, ..Self::named("givenAway") },
            UnknownReason::AskedToKeep { mark } => {
                Self { mark: Some(mark), ..Self::named("askedToKeep") }
            }
            UnknownReason::ParentActive { parent } => Self::of("parentActive", parent),
            UnknownReason::InUse { by } => Self::of("inUse", by),
            UnknownReason::StillGuards { it } => Self::of("stillGuards", it),
            UnknownReason::WouldCollect { it } => Self::of("wouldCollect", it),
            UnknownReason::WouldDestroyData { volume } => Self::of("wouldDestroyData", volume),
            UnknownReason::NamespaceNotEmpty { by } => Self::of("namespaceNotEmpty", by),
            UnknownReason::Inconclusive { message } => {
                Self { message: Some(message), ..Self::named("inconclusive") }
            }
        }
    }
}

/// A reason that is not known, or that lacks a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no reason has this name with these parameters")]
pub(super) struct Unreadable;

impl TryFrom<FlatReason> for UnknownReason {
    type Error = Unreadable;

    fn try_from(flat: FlatReason) -> Result<Self, Unreadable> {
        read(flat).ok_or(Unreadable)
    }
}

fn read(flat: FlatReason) -> Option<UnknownReason> {
    let FlatReason { resource, message, object, .. } = flat;
    Some(match flat.code.as_str() {
        "hidden" => UnknownReason::Hidden {
            resource: resource?,
            namespace: flat.namespace,
            message: message?,
        },
        "notListed" => UnknownReason::NotListed { resource: resource? },
        "notServed" => UnknownReason::NotServed { resource: resource? },
        "podsLeft" => UnknownReason::PodsLeft { pod: object?, of: flat.of? },
        "podsUnconfirmed" => UnknownReason::Unconfirmed { objects: flat.pods },
        "stillAttached" => UnknownReason::StillAttached { volume: flat.volume?, node: flat.node? },
        "givenAway" => UnknownReason::GivenAway { to: flat.to },
        "askedToKeep" => UnknownReason::AskedToKeep { mark: flat.mark? },
        "parentActive" => UnknownReason::ParentActive { parent: object? },
        "inUse" => UnknownReason::InUse { by: object? },
        "stillGuards" => UnknownReason::StillGuards { it: object? },
        "wouldCollect" => UnknownReason::WouldCollect { it: object? },
        "wouldDestroyData" => UnknownReason::WouldDestroyData { volume: object? },
        "namespaceNotEmpty" => UnknownReason::NamespaceNotEmpty { by: object? },
        "inconclusive" => UnknownReason::Inconclusive { message: message? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Uid;

    #[test]
    fn reason_is_read_as_it_was_written() {
        let text = || "x".to_owned();
        let object = || ObjectRef {
            group: "".into(),
            kind: "Pod".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        };
        let gone = UnconfirmedObject { uid: Uid::new("u"), object: object(), node: Some(text()) };
        let reasons = [
            UnknownReason::Hidden { resource: text(), namespace: None, message: "no".into() },
            UnknownReason::NotListed { resource: text() },
            UnknownReason::NotServed { resource: text() },
            UnknownReason::PodsLeft { pod: object(), of: Box::new(object()) },
            UnknownReason::Unconfirmed { objects: vec![gone] },
            UnknownReason::StillAttached { volume: text(), node: text() },
            UnknownReason::GivenAway { to: Some(text()) },
            UnknownReason::AskedToKeep { mark: "a/b: keep".into() },
            UnknownReason::ParentActive { parent: object() },
            UnknownReason::InUse { by: object() },
            UnknownReason::StillGuards { it: object() },
            UnknownReason::WouldCollect { it: object() },
            UnknownReason::WouldDestroyData { volume: object() },
            UnknownReason::NamespaceNotEmpty { by: object() },
            UnknownReason::Inconclusive { message: "no".into() },
        ];
        for reason in reasons {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<UnknownReason>(&json).unwrap(), reason, "{json}");
        }
        for text in [r#"{"code":"new"}"#, r#"{"code":"inUse"}"#, "{}"] {
            assert!(serde_json::from_str::<UnknownReason>(text).is_err(), "{text}");
        }
    }
}
