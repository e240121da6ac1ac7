//! The tables that the search for edges needs, made once for all objects.

use std::{collections::HashMap, sync::Arc};

use super::{finish::Finishers, rights::Rights};
use crate::{
    index::Index,
    object::{Facts, Kind, Object},
    selector::Selector,
};

/// Tables for the search of edges: Pods and workloads by namespace, and the definitions.
#[derive(Clone, Debug, Default)]
pub struct EdgeLookup {
    by_namespace: HashMap<Arc<str>, Vec<Arc<Object>>>,
    definitions: HashMap<(Arc<str>, Arc<str>), Arc<Object>>,
    /// APIServices that delegate to a Service, by name: `VERSION.GROUP`.
    pub(super) aggregated: HashMap<Arc<str>, Arc<Object>>,
    pub(super) claims: HashMap<Arc<str>, Vec<Arc<Object>>>,
    pub(super) finishers: Finishers,
}

impl EdgeLookup {
    /// Builds the tables from the index, sorted so that edges come in a stable order.
    pub fn of(index: &Index) -> Self {
        let mut lookup = Self::default();
        for object in index.objects() {
            match (&object.facts, &object.namespace) {
                (Facts::Pod(_) | Facts::Workload(_), Some(namespace)) => {
                    lookup.by_namespace.entry(namespace.clone()).or_default().push(object.clone());
                }
                (Facts::Claim(_), Some(namespace)) => {
                    lookup.claims.entry(namespace.clone()).or_default().push(object.clone());
                }
                (Facts::Definition(definition), _) => {
                    let key = (definition.group.clone(), definition.kind.clone());
                    lookup.definitions.insert(key, object.clone());
                }
                (Facts::ApiService(api), _) if api.service.is_some() => {
                    lookup.aggregated.insert((*object.name).into(), object.clone());
                }
                _ => {}
            }
        }
        let lists = lookup.by_namespace.values_mut().chain(lookup.claims.values_mut());
        for list in lists {
            list.sort_by(|a, b| a.uid.cmp(&b.uid));
        }
        lookup.finishers = Finishers::of(index, Rights::of(index));
        lookup
    }

    /// The definition of a kind, if it is a custom one.
    pub(super) fn definition_of(&self, kind: &Kind) -> Option<&Object> {
        let key = (kind.group.clone(), kind.kind.clone());
        self.definitions.get(&key).map(|definition| &**definition)
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> &[Arc<Object>] {
        self.by_namespace.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Pods that the selector matches, and workloads whose Pods it will match.
    pub(super) fn selected<'a>(
        &'a self,
        namespace: &str,
        selector: &'a Selector,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        self.in_namespace(namespace).iter().filter(|object| match &object.facts {
            Facts::Pod(_) => selector.matches(&object.labels),
            Facts::Workload(workload) => selector.matches(&workload.template_labels),
            _ => false,
        })
    }

    /// The Pods and workloads behind a Service.
    pub(super) fn behind<'a>(
        &'a self,
        service: &'a Object,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let selector = match &service.facts {
            Facts::Service(facts) => facts.selector.as_ref(),
            _ => None,
        };
        let namespace = service.namespace.as_deref().unwrap_or_default();
        selector.into_iter().flat_map(move |selector| self.selected(namespace, selector))
    }
}
