//! The kinds that are watched, in the whole cluster or namespace by namespace.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;

use super::{Index, key::ByUid};
use crate::{
    api_problem::ApiProblem,
    object::{Kind, Object, Uid, UidHasher},
    proof::Proof,
};

/// A kind that is watched, with its objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// The kind as discovery named it last.
    pub(super) kind: Option<Arc<Kind>>,
    pub(super) namespaced: bool,
    /// Whether the kind is listed in the whole cluster.
    pub(super) listed: bool,
    /// The namespaces in which it is watched instead, while it may not be listed in the whole cluster.
    pub(super) per_namespace: Option<PerNamespace>,
    pub(super) objects: HashSet<ByUid, UidHasher>,
}

impl Watch {
    /// Whether all lists of the kind have arrived.
    pub(super) fn is_listed(&self) -> bool {
        let is_whole = |per_namespace: &PerNamespace| {
            per_namespace.namespaces.values().all(|part| part.listed)
        };
        self.listed || self.per_namespace.as_ref().is_some_and(is_whole)
    }
}

/// A kind that is watched namespace by namespace.
#[derive(Clone, Debug)]
pub(super) struct PerNamespace {
    /// The problem with listing the whole cluster.
    pub(super) message: ApiProblem,
    /// The time since which it is watched namespace by namespace.
    pub(super) since: Timestamp,
    pub(super) namespaces: BTreeMap<Arc<str>, Part>,
}

/// One namespace of a kind that is watched namespace by namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) listed: bool,
    /// The problem that hides the kind in this namespace now.
    pub(super) hidden: Option<ApiProblem>,
}

impl Index {
    /// The number of watched kinds.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The watched kind `kind` of the group `group`.
    pub(crate) fn kind(&self, group: &str, kind: &str) -> Option<Arc<Kind>> {
        let mut kinds = self.kinds.values().filter_map(|watch| watch.kind.as_ref());
        kinds.find(|it| it.is(group, kind)).cloned()
    }

    /// A kind in the version in which it is watched now, or as it is given if it is not watched.
    pub(crate) fn as_watched(&self, kind: &Kind) -> Kind {
        let watched = self.kinds.get(&kind.resource()).and_then(|watch| watch.kind.as_deref());
        watched.unwrap_or(kind).clone()
    }

    /// The watched kinds whose objects live in namespaces.
    pub(crate) fn namespaced_kinds(&self) -> impl Iterator<Item = Arc<Kind>> {
        let kinds = self.kinds.values().filter_map(|watch| watch.kind.clone());
        kinds.filter(|kind| kind.namespaced)
    }

    /// Whether every visible kind has been listed once, in each of its namespaces if it is watched namespace by
    /// namespace.
    pub fn is_synced(&self) -> bool {
        !self.kinds.is_empty() && self.pending().next().is_none()
    }

    /// The number of watched kinds that are not hidden and whose first list has not arrived yet.
    pub fn pending_kinds(&self) -> usize {
        self.pending().count()
    }

    pub(super) fn watch(&mut self, kind: &Kind) -> &mut Watch {
        let watch = self.kinds.entry(kind.resource()).or_default();
        if watch.kind.as_deref() != Some(kind) {
            watch.kind = Some(Arc::new(kind.clone()));
        }
        watch.namespaced = kind.namespaced;
        watch
    }

    /// The state of a kind in one namespace, if it is watched there.
    pub(super) fn part(&mut self, kind: &Kind, namespace: &str) -> Option<&mut Part> {
        self.kinds.get_mut(&kind.resource())?.per_namespace.as_mut()?.namespaces.get_mut(namespace)
    }

    pub(super) fn watch_per_namespace(
        &mut self,
        kind: &Kind,
        namespaces: Vec<Arc<str>>,
        message: ApiProblem,
        now: Timestamp,
    ) {
        let hidden = self.hidden.remove(&kind.resource());
        let watch = self.watch(kind);
        if !watch.namespaced {
            return;
        }
        watch.listed = false;
        let before = watch.per_namespace.take();
        let since = before
            .as_ref()
            .map(|per_namespace| per_namespace.since)
            .or(hidden.map(|hidden| hidden.since));
        let mut parts = before.map(|per_namespace| per_namespace.namespaces).unwrap_or_default();
        let namespaces = namespaces.into_iter().map(|namespace| {
            let part = parts.remove(&namespace).unwrap_or_default();
            (namespace, part)
        });
        watch.per_namespace = Some(PerNamespace {
            message,
            since: since.unwrap_or(now),
            namespaces: namespaces.collect(),
        });
        self.remove_with_namespaces();
    }

    /// The controller of namespaces lets one go when it is empty. So if it found the namespace empty, the objects in it are gone
    /// too, even if no watch showed their deletion. A namespace that went by force leaves them behind.
    pub(super) fn remove_with_namespaces(&mut self) {
        for (resource, uids) in self.objects_of_deleted_namespaces() {
            self.remove_all(&resource, &uids, Proof::NamespaceGone);
        }
    }

    fn objects_of_deleted_namespaces(&self) -> Vec<(String, Vec<Uid>)> {
        let orphaned = self.kinds.iter().filter_map(|(resource, watch)| {
            let per_namespace = watch.per_namespace.as_ref()?;
            let is_left = |object: &&Arc<Object>| {
                object.namespace.as_deref().is_some_and(|namespace| {
                    !per_namespace.namespaces.contains_key(namespace)
                        && self.is_gone_namespace(namespace)
                })
            };
            let left = self.of_resource(resource).filter(is_left);
            Some((resource.clone(), left.map(|object| object.uid.clone()).collect()))
        });
        orphaned.collect()
    }

    pub(super) fn is_watched_per_namespace(&self, resource: &str) -> bool {
        self.kinds.get(resource).is_some_and(|watch| watch.per_namespace.is_some())
    }

    fn pending(&self) -> impl Iterator<Item = &Watch> {
        let has_answered = |watch: &Watch| match &watch.per_namespace {
            None => watch.listed,
            Some(per_namespace) => {
                per_namespace.namespaces.values().all(|part| part.listed || part.hidden.is_some())
            }
        };
        let is_pending = move |(resource, watch): &(&String, &Watch)| {
            !has_answered(watch) && !self.hidden.contains_key(*resource)
        };
        self.kinds.iter().filter(is_pending).map(|(_, watch)| watch)
    }
}
