//! Distinguishes what is visible from what is hidden: "is it gone?" has three answers, and a hidden kind proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Index,
    kind_watch::{Part, PerNamespace},
};
use crate::{
    api_problem::{ApiProblem, ProblemCode},
    object::{Kind, Object, RBAC, Uid, Volume},
    observation::HiddenCause,
    unknown_reason::UnknownReason,
};

/// The most namespaces that one message names.
const NAMED: usize = 3;

/// The visibility of a kind, in one namespace or, if it has none, in the cluster.
pub(super) enum Visibility {
    /// All objects are known.
    Visible,
    /// Its first list has not arrived yet.
    NotListed,
    /// It is hidden, for this reason.
    Hidden(UnknownReason),
    /// The API server does not serve the kind.
    NotServed,
}

/// A resource or group version that is hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenKind {
    /// The cause.
    pub cause: HiddenCause,
    /// The problem.
    pub message: ApiProblem,
    /// The time since which this holds.
    pub since: Timestamp,
}

/// The answer to "does the object with this UID exist?".
#[derive(Clone, Debug, PartialEq)]
pub enum Presence<'a> {
    /// It exists.
    Present(&'a Arc<Object>),
    /// It is proven gone.
    Gone,
    /// It is unknown, for this reason.
    Unknown(UnknownReason),
}

impl Index {
    /// Checks that a resource is visible in a namespace, or in the cluster if it has none. A resource that is not served
    /// has no objects.
    ///
    /// # Errors
    /// The reason why it is not visible.
    pub fn check_visible(
        &self,
        resource: &str,
        namespace: Option<&str>,
    ) -> Result<(), UnknownReason> {
        match self.visibility(resource, namespace) {
            Visibility::Visible | Visibility::NotServed => Ok(()),
            Visibility::Hidden(why) => Err(why),
            Visibility::NotListed => {
                Err(UnknownReason::NotListed { resource: resource.to_owned() })
            }
        }
    }

    /// All hidden kinds, by resource or group version. A kind that is hidden in some namespaces is among them; its
    /// message has the number of those namespaces.
    pub fn hidden_kinds(&self) -> BTreeMap<String, HiddenKind> {
        let mut hidden = self.hidden.clone();
        for (resource, watch) in &self.kinds {
            let Some(per_namespace) = &watch.per_namespace else { continue };
            if let Some(message) = self.hidden_in(per_namespace) {
                let (cause, since) = (HiddenCause::Forbidden, per_namespace.since);
                hidden.insert(resource.clone(), HiddenKind { cause, message, since });
            }
        }
        hidden
    }

    /// The problem with the discovery of a group version, if it failed at the last try.
    pub(crate) fn discovery_problem(&self, group_version: &str) -> Option<&ApiProblem> {
        let hidden = self.hidden.get(group_version);
        hidden.filter(|it| it.cause == HiddenCause::Discovery).map(|it| &it.message)
    }

    /// The number of namespaces in which a kind is hidden, if it is watched namespace by namespace. `None` if all are
    /// visible.
    fn hidden_in(&self, per_namespace: &PerNamespace) -> Option<ApiProblem> {
        let known: BTreeSet<&str> = self
            .of_resource("namespaces")
            .map(|namespace| &*namespace.name)
            .chain(per_namespace.namespaces.keys().map(|namespace| &**namespace))
            .collect();
        let is_hidden = |namespace: &&&str| {
            per_namespace.namespaces.get(**namespace).is_none_or(|part| part.hidden.is_some())
        };
        let hidden: Vec<&str> = known.iter().filter(is_hidden).copied().collect();
        let whole = Box::new(per_namespace.message.clone());
        if !hidden.is_empty() {
            let named = hidden.iter().take(NAMED).map(ToString::to_string).collect();
            let (hidden, of) = (hidden.len(), known.len());
            return Some(ProblemCode::HiddenInNamespaces { hidden, of, named, whole }.into());
        }
        if matches!(self.visibility("namespaces", None), Visibility::Visible) {
            return None;
        }
        Some(ProblemCode::NamespacesUnknown { seen: known.len(), whole }.into())
    }

    /// Whether the object with that UID and kind exists. `namespace` is the namespace it is or was in, because absence
    /// is only proven where the kind is visible.
    pub fn presence(&self, kind: &Kind, namespace: Option<&str>, uid: &Uid) -> Presence<'_> {
        self.presence_of(self.get(uid), kind, namespace)
    }

    /// The same for an object that was looked up already.
    pub(crate) fn presence_of<'a>(
        &'a self,
        found: Option<&'a Arc<Object>>,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Presence<'a> {
        if let Some(object) = found.filter(|_| !self.hides) {
            return Presence::Present(object);
        }
        let resource = kind.resource();
        if let Some(hidden) = self.hidden.get(&group_version(kind)) {
            return Presence::Unknown(hidden_reason(&resource, None, &hidden.message));
        }
        match (self.visibility(&resource, namespace), found) {
            (Visibility::Hidden(why), _) => Presence::Unknown(why),
            (_, Some(object)) => Presence::Present(object),
            (Visibility::Visible, None) => Presence::Gone,
            (Visibility::NotListed, None) => {
                Presence::Unknown(UnknownReason::NotListed { resource })
            }
            // The definition waits for the last object of its kind, so without the definition there is no object.
            (Visibility::NotServed, None) if self.definition_is_gone(kind) => Presence::Gone,
            (Visibility::NotServed, None) => {
                Presence::Unknown(UnknownReason::NotServed { resource })
            }
        }
    }

    pub(super) fn visibility(&self, resource: &str, namespace: Option<&str>) -> Visibility {
        if let Some(hidden) = self.hidden.get(resource) {
            return Visibility::Hidden(hidden_reason(resource, None, &hidden.message));
        }
        let Some(watch) = self.kinds.get(resource) else { return Visibility::NotServed };
        let Some(per_namespace) = &watch.per_namespace else {
            return if watch.listed { Visibility::Visible } else { Visibility::NotListed };
        };
        let in_namespace = |namespace: &str| match per_namespace.namespaces.get(namespace) {
            Some(Part { hidden: Some(message), .. }) => {
                Visibility::Hidden(hidden_reason(resource, Some(namespace), message))
            }
            Some(Part { listed: true, .. }) => Visibility::Visible,
            Some(_) => Visibility::NotListed,
            None if self.is_gone_namespace(namespace) => Visibility::Visible,
            None => {
                Visibility::Hidden(hidden_reason(resource, Some(namespace), &per_namespace.message))
            }
        };
        if let Some(namespace) = namespace {
            return in_namespace(namespace);
        }
        // In the whole cluster it is visible where no namespace is left out.
        let unseen = self
            .of_resource("namespaces")
            .map(|namespace| in_namespace(&namespace.name))
            .chain(per_namespace.namespaces.keys().map(|namespace| in_namespace(namespace)))
            .find(|it| !matches!(it, Visibility::Visible));
        if let Some(unseen) = unseen {
            return unseen;
        }
        if matches!(self.visibility("namespaces", None), Visibility::Visible) {
            return Visibility::Visible;
        }
        Visibility::Hidden(hidden_reason(resource, None, &per_namespace.message))
    }

    pub(super) fn is_gone_namespace(&self, namespace: &str) -> bool {
        matches!(self.visibility("namespaces", None), Visibility::Visible)
            && self.find("", "Namespace", None, namespace).is_none()
            && !self.forced.contains(namespace)
            && !self.unseen_ends.contains(namespace)
    }

    /// Whether the kind had a definition that is gone now. A kind of an aggregated API has none: its objects may still
    /// exist while its API server is away.
    fn definition_is_gone(&self, kind: &Kind) -> bool {
        let definitions = "customresourcedefinitions.apiextensions.k8s.io";
        matches!(self.visibility(definitions, None), Visibility::Visible)
            && self.undefined.contains(&(kind.group.clone(), kind.kind.clone()))
    }

    /// Checks that every namespaced kind is visible in this namespace, so that an empty namespace can be distinguished from
    /// one with hidden content.
    ///
    /// # Errors
    /// The first reason why a kind is not visible.
    pub fn check_namespace_visible(&self, namespace: &str) -> Result<(), UnknownReason> {
        self.unseen_in_namespace(namespace).next().map_or(Ok(()), Err)
    }

    /// The reasons why namespaced kinds are not visible in this namespace, one for each kind or group version. A kind without the
    /// verb `delete` does not matter: the namespace controller leaves its objects alone
    /// (`pkg/controller/namespace/deletion/namespaced_resources_deleter.go`, `deleteAllContent`).
    pub(crate) fn unseen_in_namespace(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = UnknownReason> {
        let could_be_inside = |resource: &String| {
            let is_namespaced = self.kinds.get(resource).is_none_or(|watch| watch.namespaced);
            is_namespaced && !self.undeletable.contains(resource)
        };
        let hidden = self.hidden.iter().filter(move |(resource, _)| could_be_inside(resource));
        let hidden =
            hidden.map(|(resource, hidden)| hidden_reason(resource, None, &hidden.message));
        let watched = self
            .kinds
            .iter()
            .filter(move |(resource, _)| could_be_inside(resource))
            .filter(|(resource, _)| !self.hidden.contains_key(*resource));
        let unseen = watched.filter_map(move |(resource, _)| {
            match self.visibility(resource, Some(namespace)) {
                Visibility::Visible | Visibility::NotServed => None,
                Visibility::NotListed => {
                    Some(UnknownReason::NotListed { resource: resource.clone() })
                }
                Visibility::Hidden(why) => Some(why),
            }
        });
        hidden.chain(unseen)
    }

    /// Whether the credentials lack the right to list a hidden resource, in the cluster or in some namespaces.
    pub(crate) fn may_not_list(&self, resource: &str) -> bool {
        self.hidden.get(resource).is_none_or(|hidden| hidden.cause == HiddenCause::Forbidden)
    }

    /// Whether a watch covers the resource, or would if it could be listed.
    pub(crate) fn is_watched(&self, resource: &str) -> bool {
        self.kinds.contains_key(resource) || self.hidden.contains_key(resource)
    }

    /// Whether discovery says that no object of this kind can be deleted by itself: it lists no verb `delete`.
    pub fn is_undeletable(&self, kind: &Kind) -> bool {
        !self.undeletable.is_empty() && self.undeletable.contains(&kind.resource())
    }

    /// Whether no version of a resource, such as `widgets.example.com`, has the verb `delete`.
    pub(crate) fn cannot_delete(&self, resource: &str) -> bool {
        self.undeletable.contains(resource)
    }

    /// Checks that a definition's kind is visible in every namespace. The name of the definition is the name of the
    /// resource.
    ///
    /// # Errors
    /// The reason why the kind is not visible.
    pub fn check_kind_visible(&self, definition: &str) -> Result<(), UnknownReason> {
        let group = definition.split_once('.').map_or("", |(_, group)| group);
        let is_about = |resource: &&str| {
            *resource == definition
                || resource.split_once('/').is_some_and(|(hidden, _)| hidden == group)
        };
        let hidden = self.hidden_kinds();
        if let Some((resource, hidden)) = hidden.iter().find(|(it, _)| is_about(&it.as_str())) {
            return Err(hidden_reason(resource, None, &hidden.message));
        }
        match self.kinds.get(definition) {
            Some(watch) if watch.is_listed() => Ok(()),
            Some(_) => Err(UnknownReason::NotListed { resource: definition.to_owned() }),
            None => Err(UnknownReason::NotServed { resource: definition.to_owned() }),
        }
    }

    /// Checks that the claims of a namespace are visible.
    ///
    /// # Errors
    /// The reason why they are not visible.
    pub fn check_claims_visible(&self, namespace: Option<&str>) -> Result<(), UnknownReason> {
        match self.visibility("persistentvolumeclaims", namespace) {
            Visibility::Visible | Visibility::NotServed => Ok(()),
            Visibility::Hidden(why) => Err(why),
            Visibility::NotListed => {
                Err(UnknownReason::NotListed { resource: "persistentvolumeclaims".to_owned() })
            }
        }
    }

    /// The claim that a volume names, if it exists, whether or not it is bound.
    ///
    /// # Errors
    /// The reason why it is unknown whether the claim exists.
    pub fn claim_of(&self, volume: &Volume) -> Result<Option<&Arc<Object>>, UnknownReason> {
        let Some(named) = &volume.claim else { return Ok(None) };
        let namespace = Some(&*named.namespace);
        let claim = self.find("", "PersistentVolumeClaim", namespace, &named.name);
        if claim.is_none() {
            self.check_claims_visible(namespace)?;
        }
        Ok(claim.filter(|claim| named.uid.as_ref().is_none_or(|uid| *uid == claim.uid)))
    }

    /// Whether all roles and bindings are visible that give rights to the objects of a namespace; to those that are in no
    /// namespace, if there is none.
    pub(crate) fn sees_rights(&self, namespace: Option<&str>) -> bool {
        let is_hidden = |plural: &str, namespace: Option<&str>| {
            let visibility = self.visibility(&format!("{plural}.{RBAC}"), namespace);
            matches!(visibility, Visibility::Hidden(_))
        };
        !self.hides
            || !(self.hidden.contains_key(&format!("{RBAC}/v1"))
                || ["clusterroles", "clusterrolebindings"].iter().any(|it| is_hidden(it, None))
                || namespace.is_some()
                    && ["roles", "rolebindings"].iter().any(|it| is_hidden(it, namespace)))
    }

    /// Whether PersistentVolumes are visible, so that a volume that is not in the index does not exist.
    pub fn can_see_volumes(&self) -> bool {
        matches!(self.visibility("persistentvolumes", None), Visibility::Visible)
    }
}

fn hidden_reason(resource: &str, namespace: Option<&str>, message: &ApiProblem) -> UnknownReason {
    UnknownReason::Hidden {
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        message: message.clone(),
    }
}

fn group_version(kind: &Kind) -> String {
    if kind.group.is_empty() {
        kind.version.to_string()
    } else {
        format!("{}/{}", kind.group, kind.version)
    }
}
