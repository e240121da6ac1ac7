//! What follows from a write within the server itself: definitions that are served, APIServices that are judged anew.

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
    /// Called after every change of the store.
    pub(super) fn after_write(
        &mut self,
        key: &Key,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
    ) {
        match (&*key.group, &*key.plural) {
            (EXTENSIONS, "customresourcedefinitions") => self.define(key, new),
            // Its own judgement does not call for another.
            ("apiregistration.k8s.io", "apiservices")
                if new.is_some()
                    && old.zip(new).is_none_or(|(old, new)| old["spec"] != new["spec"]) =>
            {
                self.judge_api_service(key);
            }
            ("discovery.k8s.io", "endpointslices") | ("", "services") if self.has_aggregated() => {
                self.judge_api_services();
            }
            _ => {}
        }
    }

    fn has_aggregated(&self) -> bool {
        self.list("apiregistration.k8s.io", "apiservices", None)
            .any(|one| !one["spec"]["service"].is_null())
    }

    /// Serves what a definition says, after its names were accepted.
    fn define(&mut self, key: &Key, definition: Option<&Arc<Value>>) {
        let Some(definition) = definition else {
            self.kinds.remove_definition(&key.name);
            self.register_api_services();
            return;
        };
        let established = object::condition(definition, "Established")["status"] == "True";
        if !established || definition["status"]["acceptedNames"] != definition["spec"]["names"] {
            let now = clock::written(self.now());
            let accepted = kind::accepted(definition, &now);
            let mut next = Value::clone(definition);
            next["status"] = accepted;
            // The write comes back here, with the names accepted. A refusal leaves it as it is: not served.
            let _ = self.update_status(&Actor::admin(), key, next);
            return;
        }
        self.kinds.remove_definition(&key.name);
        for kind in kind::kinds_of(definition) {
            let free = self
                .kinds
                .get(&kind.group, &kind.plural)
                .is_none_or(|one| one.definition == kind.definition);
            if free {
                self.kinds.insert(kind);
            }
        }
        self.register_api_services();
    }

    /// Nothing new of a kind whose definition ends.
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
