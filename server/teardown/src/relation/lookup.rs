//! The questions that the search for edges asks, beyond those that the index answers by itself.

use std::{cell::OnceCell, sync::Arc};

use super::rights::Rights;
use crate::{
    index::Index,
    object::{Facts, Kind, Object},
    selector::Selector,
};

/// Answers the search for edges from the tables of the index. It costs nothing to make; the rights are collected when they
/// are first asked for.
#[derive(Clone, Debug)]
pub struct EdgeLookup<'a> {
    index: &'a Index,
    rights: OnceCell<Rights>,
}

impl<'a> EdgeLookup<'a> {
    /// The answers of this index.
    pub fn of(index: &'a Index) -> Self {
        Self { index, rights: OnceCell::new() }
    }

    /// The rights to clear finalizers.
    pub(super) fn rights(&self) -> &Rights {
        self.index.ask_rights();
        // The search that happens to be the first one depends on the rights, and not on each role.
        self.rights.get_or_init(|| self.index.noting(|| Rights::of(self.index)).0)
    }

    /// The definition of a kind, if it is a custom one.
    pub(super) fn definition_of(&self, kind: &Kind) -> Option<&'a Object> {
        self.index.definition_of(kind).map(|definition| &**definition)
    }

    /// The APIService of a group version, if it delegates to a Service.
    pub(super) fn aggregated(&self, name: &str) -> Option<&'a Arc<Object>> {
        let service = self.index.find("apiregistration.k8s.io", "APIService", None, name);
        service.filter(|it| matches!(&it.facts, Facts::ApiService(api) if api.service.is_some()))
    }

    /// The Pods and workloads of a namespace.
    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.index.workers_in(namespace)
    }

    /// Pods that the selector matches, and workloads whose Pods it will match.
    pub(super) fn selected<'b>(
        &'b self,
        namespace: &str,
        selector: &'b Selector,
    ) -> impl Iterator<Item = &'b Arc<Object>> {
        self.index.selected(namespace, selector)
    }

    /// The Pods and workloads behind a Service.
    pub(super) fn behind<'b>(
        &'b self,
        service: &'b Object,
    ) -> impl Iterator<Item = &'b Arc<Object>> {
        let selector = match &service.facts {
            Facts::Service(facts) => facts.selector.as_ref(),
            _ => None,
        };
        let namespace = service.namespace.as_deref().unwrap_or_default();
        selector.into_iter().flat_map(move |selector| self.selected(namespace, selector))
    }
}
