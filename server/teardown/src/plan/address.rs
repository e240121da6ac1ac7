//! Objects and kinds as a person writes them: `Deployment.apps/shop/web`, without a group in the core group, and with an empty
//! namespace where the kind has none.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::object::ObjectRef;

/// An object as a person names it. In JSON it is that text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ObjectAddress(pub ObjectRef);

/// The text names no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no object: it is written as KIND.GROUP/NAMESPACE/NAME")]
pub struct AddressError(String);

impl fmt::Display for ObjectAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&address(&self.0))
    }
}

impl From<ObjectAddress> for String {
    fn from(it: ObjectAddress) -> Self {
        address(&it.0)
    }
}

impl TryFrom<String> for ObjectAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        object(&text).map(Self).ok_or(AddressError(text))
    }
}

/// `Deployment.apps/shop/web`.
pub(super) fn address(object: &ObjectRef) -> String {
    let namespace = object.namespace.as_deref().unwrap_or_default();
    format!("{}/{namespace}/{}", dotted(&object.group, &object.kind), object.name)
}

pub(super) fn dotted(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

pub(super) fn object(text: &str) -> Option<ObjectRef> {
    let mut parts = text.split('/');
    let (of, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    let (group, kind) = kind(of)?;
    if parts.next().is_some() || !is_name(name) || !namespace.is_empty() && !is_name(namespace) {
        return None;
    }
    let namespace = (!namespace.is_empty()).then(|| namespace.into());
    Some(ObjectRef { group, kind, namespace, name: name.into() })
}

pub(super) fn kind(text: &str) -> Option<(Arc<str>, Arc<str>)> {
    let (kind, group) = text.split_once('.').unwrap_or((text, ""));
    let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_kind && (group.is_empty() || is_name(group))).then(|| (group.into(), kind.into()))
}

/// Whether a path segment of the API can be this name: a few kinds of RBAC allow more than a DNS name.
pub(super) fn is_name(text: &str) -> bool {
    let is_allowed = |it: char| !it.is_whitespace() && !it.is_control() && !matches!(it, '/' | '%');
    (1..=253).contains(&text.len()) && text.chars().all(is_allowed)
}
