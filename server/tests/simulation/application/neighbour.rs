//! API extensions of other teams that reach into every namespace: an aggregated API, a validating webhook for DELETE,
//! and custom resource definitions.

use fastrand::Rng;
use serde_json::json;

use super::{Application, BYSTANDER, Generator, UNIT, object};

pub(crate) const POLICY: &str = "policy.example.net";
/// The Deployment behind the aggregated API.
pub(crate) const METRICS: &str = "metrics";

/// The extensions that a cluster has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub(crate) metrics: bool,
    pub(crate) policy: bool,
}

impl Application {
    /// Adds some of these extensions, and custom resources of the application.
    pub(crate) fn add_neighbours(&mut self, rng: &mut Rng) {
        self.neighbours = Neighbours { metrics: rng.u32(..4) == 0, policy: rng.u32(..4) == 0 };
        let application = std::mem::take(self);
        let mut generate =
            Generator { rng, application, namespaces: vec![], number: 0, definition: false };
        if generate.application.neighbours.metrics {
            generate.metrics();
        }
        if generate.application.neighbours.policy {
            generate.policy();
        }
        generate.projects(UNIT);
        *self = generate.application;
    }
}

impl Generator<'_> {
    /// Adds an aggregated API, as metrics-server has one. While it has no backend, no namespace can be deleted.
    fn metrics(&mut self) {
        self.deployment_with_service(METRICS);
        let mut registration =
            object("apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.example.net");
        registration["spec"] = json!({
            "group": "metrics.example.net", "version": "v1beta1", "groupPriorityMinimum": 100,
            "versionPriority": 100, "insecureSkipTLSVerify": true,
            "service": {"namespace": BYSTANDER, "name": METRICS, "port": 443},
        });
        self.add_for(BYSTANDER, registration);
        self.application.backends.push((BYSTANDER.to_owned(), METRICS.to_owned()));
    }

    fn policy(&mut self) {
        self.deployment_with_service("policy");
        let mut configuration = object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "",
            "policy",
        );
        configuration["webhooks"] = json!([{
            "name": POLICY,
            "clientConfig": {"service": {"namespace": BYSTANDER, "name": "policy", "port": 443}},
            "rules": [{
                "apiGroups": ["", "apps"], "apiVersions": ["v1"], "operations": ["DELETE"],
                "resources": ["configmaps", "secrets", "services", "deployments", "persistentvolumeclaims"],
            }],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }]);
        self.add_for(BYSTANDER, configuration);
    }

    /// A Deployment of the bystander with a Service in front of it.
    fn deployment_with_service(&mut self, name: &str) {
        self.plain_deployment(BYSTANDER, BYSTANDER, name, 1);
        let mut service = object("v1", "Service", BYSTANDER, name);
        service["spec"] =
            json!({"selector": {"app": name}, "ports": [{"name": "https", "port": 443}]});
        self.add_for(BYSTANDER, service);
    }
}
