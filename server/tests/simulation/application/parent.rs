//! A Kustomization of the unit, which declares some of the unit's objects and creates them again while it is active.

use serde_json::{Value, json};

use super::{Generator, UNIT, object, project};
use crate::state::{kind, text, unit};

/// The kinds that it declares.
const KINDS: [&str; 7] =
    ["ConfigMap", "Secret", "Service", "ServiceAccount", "Deployment", "StatefulSet", "Namespace"];

impl Generator<'_> {
    /// Adds a Kustomization in some applications.
    pub(super) fn parent(&mut self) {
        if !self.chance(25) {
            return;
        }
        self.install(&project::KUSTOMIZATION);
        let namespace = self.namespace();
        let mut parent = object(
            &project::KUSTOMIZATION.api_version(),
            "Kustomization",
            &namespace,
            "everything",
        );
        parent["spec"] = json!({"prune": self.chance(70), "suspend": self.chance(15)});
        parent["metadata"]["finalizers"] = json!(["finalizers.fluxcd.io"]);
        self.add(parent);
        let declares = |it: &&mut Value| {
            unit(it) == UNIT
                && KINDS.contains(&kind(it))
                && (kind(it) == "Namespace" || text(it, "/metadata/namespace").starts_with(UNIT))
        };
        for declared in self.application.objects.iter_mut().filter(declares) {
            if self.rng.u32(..100) < 60 {
                let labels = &mut declared["metadata"]["labels"];
                labels["kustomize.toolkit.fluxcd.io/name"] = json!("everything");
                labels["kustomize.toolkit.fluxcd.io/namespace"] = json!(namespace);
            }
        }
    }
}
