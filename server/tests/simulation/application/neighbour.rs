//! What others have that reaches into every namespace: an API that their Pods serve, a webhook that is asked about what is
//! deleted, kinds that they brought.

use fastrand::Rng;
use serde_json::json;

use super::{Application, BYSTANDER, Draw, UNIT, object};

/// The webhook of the others.
pub(crate) const POLICY: &str = "policy.example.net";
/// The Deployment behind the API of the others.
pub(crate) const METRICS: &str = "metrics";

/// What of it there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub(crate) metrics: bool,
    pub(crate) policy: bool,
}

impl Application {
    /// Gives an application such neighbours, or none, and lets it use what they brought.
    pub(crate) fn settle(&mut self, rng: &mut Rng) {
        self.neighbours = Neighbours { metrics: rng.u32(..4) == 0, policy: rng.u32(..4) == 0 };
        let application = std::mem::take(self);
        let mut draw = Draw { rng, application, namespaces: vec![], number: 0, definition: false };
        if draw.application.neighbours.metrics {
            draw.metrics();
        }
        if draw.application.neighbours.policy {
            draw.policy();
        }
        draw.projects(UNIT);
        *self = draw.application;
    }
}

impl Draw<'_> {
    /// As most clusters have one: where nothing answers for it, no namespace can end.
    fn metrics(&mut self) {
        self.served(METRICS);
        let mut registration =
            object("apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.example.net");
        registration["spec"] = json!({
            "group": "metrics.example.net", "version": "v1beta1", "groupPriorityMinimum": 100,
            "versionPriority": 100, "insecureSkipTLSVerify": true,
            "service": {"namespace": BYSTANDER, "name": METRICS, "port": 443},
        });
        self.add_for(BYSTANDER, registration);
        self.application.answering.push((BYSTANDER.to_owned(), METRICS.to_owned()));
    }

    fn policy(&mut self) {
        self.served("policy");
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

    /// Pods of the others, and a Service before them.
    fn served(&mut self, name: &str) {
        self.plain_deployment(BYSTANDER, BYSTANDER, name, 1);
        let mut service = object("v1", "Service", BYSTANDER, name);
        service["spec"] =
            json!({"selector": {"app": name}, "ports": [{"name": "https", "port": 443}]});
        self.add_for(BYSTANDER, service);
    }
}
