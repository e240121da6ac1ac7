//! Custom resources of widespread projects: their definitions belong to no application, and their resources refer to
//! claims, Services, workloads and namespaces of the unit.

use serde_json::{Value, json};

use super::{Generator, object};
use crate::state::{kind, name, text};

/// A kind of one of the projects.
pub(super) struct Project {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    /// The kind of the object that a resource refers to.
    about: &'static str,
    /// The specification of a resource that refers to the object of this name.
    spec: fn(&str) -> Value,
}

pub(super) const KUSTOMIZATION: Project = Project {
    group: "kustomize.toolkit.fluxcd.io",
    version: "v1",
    kind: "Kustomization",
    plural: "kustomizations",
    about: "ConfigMap",
    spec: |path| json!({"path": path, "prune": false}),
};

/// Volume snapshots, Gateway API, KEDA, a project that nobody knows, Argo CD and Flux. What the last two name in their specs makes
/// no edge.
const PROJECTS: [Project; 6] = [
    Project {
        group: "snapshot.storage.k8s.io",
        version: "v1",
        kind: "VolumeSnapshot",
        plural: "volumesnapshots",
        about: "PersistentVolumeClaim",
        spec: |claim| json!({"source": {"persistentVolumeClaimName": claim}}),
    },
    Project {
        group: "gateway.networking.k8s.io",
        version: "v1",
        kind: "HTTPRoute",
        plural: "httproutes",
        about: "Service",
        spec: |service| json!({"rules": [{"backendRefs": [{"name": service, "port": 80}]}]}),
    },
    Project {
        group: "keda.sh",
        version: "v1alpha1",
        kind: "ScaledObject",
        plural: "scaledobjects",
        about: "Deployment",
        spec: |deployment| json!({"scaleTargetRef": {"name": deployment}, "triggers": []}),
    },
    Project {
        group: "argoproj.io",
        version: "v1alpha1",
        kind: "Application",
        plural: "applications",
        about: "Deployment",
        spec: |deployment| json!({"project": "default", "source": {"path": deployment}}),
    },
    Project {
        group: "reports.example",
        version: "v1",
        kind: "Report",
        plural: "reports",
        about: "ConfigMap",
        spec: |settings| json!({"sources": [{"settingsConfigMap": settings}]}),
    },
    KUSTOMIZATION,
];

impl Project {
    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

impl Generator<'_> {
    /// Installs some of the definitions, with resources that refer to objects of the application.
    pub(super) fn projects(&mut self, unit: &str) {
        for project in &PROJECTS {
            if self.chance(15) {
                self.install(project);
                self.make_use_of(project, unit);
            }
        }
    }

    /// Installs the definition, unless it is there.
    pub(super) fn install(&mut self, project: &Project) {
        let Project { group, version, kind, plural, .. } = project;
        let name = format!("{plural}.{group}");
        if self.application.objects.iter().any(|it| it["metadata"]["name"] == *name) {
            return;
        }
        let mut definition =
            object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &name);
        definition["metadata"]["annotations"] =
            json!({"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"});
        definition["spec"] = json!({
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        });
        self.application.objects.push(definition);
    }

    fn make_use_of(&mut self, project: &Project, unit: &str) {
        let is_about = |it: &&Value| kind(it) == project.about && crate::state::unit(it) == unit;
        let objects = self.application.objects.iter().filter(is_about);
        let places: Vec<(String, String)> = objects
            .map(|it| (text(it, "/metadata/namespace").to_owned(), name(it).to_owned()))
            .collect();
        for (namespace, about) in places {
            if self.chance(50) {
                let mut resource = object(&project.api_version(), project.kind, &namespace, &about);
                resource["spec"] = (project.spec)(&about);
                self.add_for(unit, resource);
            }
        }
    }
}
