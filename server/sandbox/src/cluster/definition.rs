//! The effects of a write within the server: the kinds that are served, and the availability of APIServices.

use std::sync::Arc;

use serde_json::Value;

use super::{Actor, Cluster};
use crate::{
    clock,
    kind::{self, Kind},
    object,
    status::Status,
    store::Key,
};

const EXTENSIONS: &str = "apiextensions.k8s.io";

impl Cluster {
    /// Runs after every change of the store.
    pub(super) fn after_write(
        &mut self,
        key: &Key,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
    ) {
        if key.is_of("", "services") {
            self.note_address(old, new);
        }
        match (&*key.group, &*key.plural) {
            (EXTENSIONS, "customresourcedefinitions") => self.define(key, new),
            // A change of the status, which this module itself writes, has no further effect.
            ("apiregistration.k8s.io", "apiservices")
                if new.is_some()
                    && old.zip(new).is_none_or(|(old, new)| old["spec"] != new["spec"]) =>
            {
                self.judge_api_service(key);
            }
            ("discovery.k8s.io", "endpointslices") | ("", "services") if self.has_aggregated() => {
                self.judge_api_services();
            }
            ("", "pods") if address(old) != address(new) && self.has_aggregated() => {
                self.judge_api_services();
            }
            _ => {}
        }
    }

    fn has_aggregated(&self) -> bool {
        self.list("apiregistration.k8s.io", "apiservices", None)
            .any(|one| !one["spec"]["service"].is_null())
    }

    /// Serves the kinds of a definition whose names are accepted.
    fn define(&mut self, key: &Key, definition: Option<&Arc<Value>>) {
        let Some(definition) = definition else {
            self.kinds.remove_definition(&key.name);
            self.register_api_services();
            self.reconsider();
            return;
        };
        let group = &definition["spec"]["group"];
        let taken: Vec<&Value> = self
            .list(EXTENSIONS, "customresourcedefinitions", None)
            .filter(|one| one["spec"]["group"] == *group && object::name(one) != &*key.name)
            .map(|one| &one["status"]["acceptedNames"])
            .collect();
        let judged = kind::accepted(definition, &taken, &clock::written(self.now()));
        if judged != definition["status"] {
            let mut next = Value::clone(definition);
            next["status"] = judged;
            // The write leads back here, with the names accepted. If it is refused, the definition stays unserved.
            let _ = self.update_status(&Actor::admin(), key, next);
            return;
        }
        let before: Vec<Arc<Kind>> = self
            .kinds
            .iter_versions()
            .filter(|one| *one.definition == *key.name)
            .cloned()
            .collect();
        self.kinds.remove_definition(&key.name);
        let revision = self.store.revision();
        for kind in kind::kinds_of(definition) {
            let free = self
                .kinds
                .get(&kind.group, &kind.plural)
                .is_none_or(|one| one.definition == kind.definition);
            if free {
                // A version whose declaration has changed counts as newly served.
                let known = before.iter().find(|one| one.declared == kind.declared);
                let since = known.map_or(revision, |one| one.since);
                self.kinds.insert(Kind { since, ..kind });
            }
        }
        self.register_api_services();
    }

    /// Checks the definitions whose names were taken again, because a name has become free.
    fn reconsider(&mut self) {
        let waiting: Vec<Arc<Value>> = self
            .list(EXTENSIONS, "customresourcedefinitions", None)
            .filter(|one| object::condition(one, "NamesAccepted")["status"] == "False")
            .cloned()
            .collect();
        for one in waiting {
            let key = Key::new(EXTENSIONS, "customresourcedefinitions", "", object::name(&one));
            self.define(&key, Some(&one));
        }
    }

    /// Refuses new objects of a kind whose definition is being deleted.
    pub(super) fn may_create_of(&self, kind: &Kind, name: &str) -> Result<(), Status> {
        if !kind.is_custom() {
            return Ok(());
        }
        let key = Key::new(EXTENSIONS, "customresourcedefinitions", "", &kind.definition);
        let terminating = self.get(&key).is_some_and(|definition| {
            object::condition(definition, "Terminating")["status"] == "True"
        });
        if terminating {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(&kind.group, &kind.plural, name, why));
        }
        Ok(())
    }
}

/// The address of a Pod.
fn address(pod: Option<&Arc<Value>>) -> &str {
    pod.map_or("", |pod| object::text(pod, &["status", "podIP"]))
}
