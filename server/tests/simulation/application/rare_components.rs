//! Components that only few applications have: ephemeral volumes, load balancers, mutating webhooks, ingress classes,
//! replication controllers.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Application, Generator, RBAC, UNIT, object, storage::CLASS, workload};
use crate::state::name;

/// The finalizer that keeps a Service until its load balancer is gone.
pub(crate) const LOAD_BALANCER_FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The CSI driver of the volumes that are provisioned on demand.
pub(super) const DRIVER: &str = "csi.example.com";

impl Application {
    /// Adds some of these components.
    pub(crate) fn add_rare_components(&mut self, rng: &mut Rng) {
        let namespaces = self.objects.iter().filter(|it| it["kind"] == "Namespace");
        let ours = namespaces.map(name).filter(|name| name.starts_with(UNIT));
        let namespaces = ours.map(str::to_owned).collect();
        let application = std::mem::take(self);
        // Every number is part of the name of at least one object, so no number above this one is taken.
        let number = application.objects.len();
        let mut generate = Generator { rng, application, namespaces, number, definition: false };
        for _ in 0..generate.rng.u32(1..5) {
            generate.rare_component();
        }
        *self = generate.application;
    }
}

impl Generator<'_> {
    fn rare_component(&mut self) {
        let namespace = self.namespace();
        match self.rng.u32(..9) {
            0 => self.mutating_webhook(&namespace),
            1 => self.classed_ingress(&namespace),
            2 => self.ephemeral_pod(&namespace),
            3 => self.ephemeral_deployment(&namespace),
            4 | 5 => self.replication_controller(&namespace),
            6 => self.driver(),
            7 => self.load_balanced_service(&namespace),
            _ => self.account_with_secret(&namespace),
        }
    }

    /// A mutating webhook for DELETE. It can change nothing there, but it can refuse the request.
    fn mutating_webhook(&mut self, namespace: &str) {
        self.webhook_of("MutatingWebhookConfiguration", namespace);
    }

    /// An Ingress with an IngressClass of its own and a default backend.
    fn classed_ingress(&mut self, namespace: &str) {
        let service = self.service_with_pods(namespace);
        let name = self.name("class");
        let mut class = object("networking.k8s.io/v1", "IngressClass", "", &name);
        class["spec"] = json!({"controller": "example.com/ingress"});
        // A class without the label belongs to the cluster and stays.
        if self.chance(75) {
            self.add(class);
        } else {
            self.application.objects.push(class);
        }
        let mut ingress = object("networking.k8s.io/v1", "Ingress", namespace, &name);
        ingress["spec"] = json!({
            "ingressClassName": name,
            "defaultBackend": {"service": {"name": service, "port": {"number": 443}}},
        });
        self.add(ingress);
    }

    /// An ephemeral volume, whose claim is created and deleted together with the Pod.
    fn ephemeral(&mut self) -> Value {
        self.class();
        json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
            "resources": {"requests": {"storage": "1Gi"}},
        }}}})
    }

    fn ephemeral_pod(&mut self, namespace: &str) {
        self.pod(namespace);
        let volume = self.ephemeral();
        let pods = self.application.objects.iter_mut().rev();
        if let Some(pod) = pods.into_iter().find(|it| it["kind"] == "Pod") {
            mount(&mut pod["spec"], volume);
        }
    }

    fn ephemeral_deployment(&mut self, namespace: &str) {
        let name = self.name("scratch");
        let mut deployment = self.deployment_of(&name, namespace, 1);
        let volume = self.ephemeral();
        mount(&mut deployment["spec"]["template"]["spec"], volume);
        self.add(deployment);
    }

    fn replication_controller(&mut self, namespace: &str) {
        let name = self.name("old");
        let mut template = self.template(&name);
        let spec = self.needs(namespace, &name);
        workload::merge(&mut template["spec"], spec);
        let mut controller = object("v1", "ReplicationController", namespace, &name);
        controller["spec"] = json!({
            "replicas": self.rng.u32(..3), "selector": {"app": name}, "template": template,
        });
        self.add(controller);
        if self.chance(30) {
            self.scaler("v1", "ReplicationController", namespace, &name);
        }
        self.guards(namespace, &name);
    }

    /// A CSIDriver for the volumes that are provisioned on demand, and a Deployment with an inline CSI volume that
    /// needs a Secret.
    fn driver(&mut self) {
        let is_there = self.application.objects.iter().any(|it| it["kind"] == "CSIDriver");
        if !is_there {
            let mut driver = object("storage.k8s.io/v1", "CSIDriver", "", DRIVER);
            driver["spec"] = json!({
                "attachRequired": self.chance(50),
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            });
            self.add(driver);
        }
        let namespace = self.namespace();
        let (name, secret) = (self.name("inline"), self.secret(&namespace));
        let mut deployment = self.deployment_of(&name, &namespace, 1);
        let reference = json!({"name": secret});
        let source = json!({"driver": DRIVER, "nodePublishSecretRef": reference});
        let volume = json!({"name": "inline", "csi": source});
        mount(&mut deployment["spec"]["template"]["spec"], volume);
        self.add(deployment);
    }

    /// A Service with a load balancer outside of the cluster.
    fn load_balanced_service(&mut self, namespace: &str) {
        let name = self.name("front");
        self.plain_deployment(UNIT, namespace, &name, 1);
        let mut service = object("v1", "Service", namespace, &name);
        service["spec"] = json!({
            "type": "LoadBalancer", "selector": {"app": name},
            "ports": [{"name": "http", "port": 80}],
        });
        if self.chance(60) {
            service["metadata"]["finalizers"] = json!([LOAD_BALANCER_FINALIZER]);
        }
        self.add(service);
    }

    /// A ServiceAccount with a Secret for its Pods, and with the rights of a ClusterRole in its namespace.
    fn account_with_secret(&mut self, namespace: &str) {
        let (name, secret) = (self.name("lender"), self.secret(namespace));
        let mut account = object("v1", "ServiceAccount", namespace, &name);
        account["secrets"] = json!([{"name": secret}]);
        self.add(account);
        let mut role = object(RBAC, "ClusterRole", "", &name);
        role["rules"] = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        let mut binding = object(RBAC, "RoleBinding", namespace, &name);
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        binding["subjects"] =
            json!([{"kind": "ServiceAccount", "namespace": namespace, "name": name}]);
        self.add(role);
        self.add(binding);
        let mut deployment = self.deployment_of(&name, namespace, 1);
        deployment["spec"]["template"]["spec"]["serviceAccountName"] = json!(name);
        self.add(deployment);
    }
}

fn mount(spec: &mut Value, volume: Value) {
    match spec["volumes"].as_array_mut() {
        Some(volumes) => volumes.push(volume),
        None => spec["volumes"] = json!([volume]),
    }
}
