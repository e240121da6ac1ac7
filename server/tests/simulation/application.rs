//! Random applications: the unit that is torn down, and a bystander that shares some of its objects. The same seed
//! gives the same objects.

pub(crate) mod driver;
mod hint;
pub(crate) mod late_object;
pub(crate) mod neighbour;
mod parent;
mod project;
mod rare_components;
mod settings_references;
mod storage;
mod workload;

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};
use teardown::unit::UnitId;

pub(crate) use self::{
    hint::HINTED,
    neighbour::Neighbours,
    rare_components::LOAD_BALANCER_FINALIZER,
    storage::CLASS,
    workload::{CANARY, ENCODED, contains_secret},
};
use crate::state::{PART_OF, text, unit};

/// The unit that is torn down.
pub(crate) const UNIT: &str = "alpha";
/// The unit that must not be touched.
pub(crate) const BYSTANDER: &str = "beta";
/// The finalizer of the custom resources. Only their operator removes it.
pub(crate) const FINALIZER: &str = "widgets.example.com/cleanup";
/// The label of the operator's Deployment and of its Pods.
pub(crate) const OPERATOR: &str = "example.com/operator";
/// The NFS server of the volumes that are provisioned by hand.
pub(crate) const NFS: &str = "nfs.example.com";

/// The objects, in an order in which they can be created.
#[derive(Debug, Default)]
pub(crate) struct Application {
    pub(crate) objects: Vec<Value>,
    /// Claims of the unit, by namespace and name, that a Pod outside of the plan may mount during the run.
    pub(crate) claims: Vec<(String, String)>,
    /// Volumes that were provisioned by hand.
    pub(crate) volumes: Vec<String>,
    pub(crate) webhooks: Vec<String>,
    /// Deployments behind a webhook or an aggregated API, by namespace and name.
    pub(crate) backends: Vec<(String, String)>,
    /// Objects of the unit that may be re-created once they are gone, by kind, namespace and name.
    pub(crate) recreated: Vec<(&'static str, String, String)>,
    /// The API extensions of other teams that reach into the namespaces of the unit.
    pub(crate) neighbours: Neighbours,
}

/// An application that is being generated.
pub(crate) struct Generator<'a> {
    rng: &'a mut Rng,
    application: Application,
    namespaces: Vec<String>,
    number: usize,
    definition: bool,
}

impl Application {
    /// Generates an application. Most are small, so that many can be tried.
    pub(crate) fn generate(rng: &mut Rng) -> Self {
        let wanted = match rng.u32(..20) {
            0..12 => rng.usize(5..16),
            12..18 => rng.usize(16..45),
            _ => rng.usize(45..121),
        };
        let most = 1 + wanted / 8;
        let count = rng.usize(1..=most.min(6));
        let namespaces = (1..=count).map(|n| format!("{UNIT}-{n}")).collect();
        let application = Self::default();
        let mut generate = Generator { rng, application, namespaces, number: 0, definition: false };
        generate.namespaces();
        while generate.application.objects.len() < wanted {
            generate.component();
        }
        generate.bystander();
        generate.parent();
        generate.application
    }

    /// Removes the labels of some claims, so that only the Pods that mount them say which unit they belong to.
    pub(crate) fn remove_claim_labels(&mut self, rng: &mut Rng) {
        let claims = self.objects.iter_mut().filter(|it| it["kind"] == "PersistentVolumeClaim");
        for claim in claims.filter(|it| unit(it) == UNIT) {
            if rng.u32(..3) == 0 {
                claim["metadata"]["labels"] = json!({});
            }
        }
    }

    /// Lets the Pods of the unit's Deployments take longer than most, within a longer grace period.
    pub(crate) fn lengthen_grace(&mut self) {
        let is_one = |it: &&mut Value| it["kind"] == "Deployment" && unit(it) == UNIT;
        for deployment in self.objects.iter_mut().filter(is_one) {
            let template = &mut deployment["spec"]["template"];
            template["metadata"]["annotations"] =
                json!({"pod-delete.stage.kwok.x-k8s.io/delay": "45s"});
            template["spec"]["terminationGracePeriodSeconds"] = json!(90);
        }
    }

    /// Adds a custom resource of the unit with its definition and operator, if it has none.
    pub(crate) fn add_custom_resource(&mut self, rng: &mut Rng) {
        let is_custom = |it: &Value| it["kind"] == "Widget" && unit(it) == UNIT;
        if self.objects.iter().any(is_custom) {
            return;
        }
        let namespaces = self.objects.iter().filter(|it| it["kind"] == "Namespace");
        let ours = namespaces.map(crate::state::name).filter(|name| name.starts_with(UNIT));
        let namespaces = ours.map(str::to_owned).collect();
        let application = std::mem::take(self);
        // No object has this number or a higher one in its name.
        let number = application.objects.len();
        let mut generate = Generator { rng, application, namespaces, number, definition: false };
        let namespace = generate.namespace();
        generate.custom(&namespace);
        *self = generate.application;
    }

    /// Gives the bystander a custom resource with a finalizer.
    pub(crate) fn add_outsiders_finalizer(&mut self) {
        self.objects.retain(|it| it["kind"] != "Widget" || unit(it) != BYSTANDER);
        let mut widget = object("example.com/v1", "Widget", BYSTANDER, "theirs");
        widget["metadata"]["finalizers"] = json!([FINALIZER]);
        belongs(&mut widget, BYSTANDER);
        self.objects.push(widget);
    }

    /// Gives a user all rights in the namespace that has most of the unit. Returns its name.
    pub(crate) fn add_rights_in_one_namespace(&mut self, user: &str) -> String {
        let of_unit = self.objects.iter().filter(|it| unit(it) == UNIT);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for namespace in of_unit.map(crate::state::namespace).filter(|it| !it.is_empty()) {
            *counts.entry(namespace).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let namespace = most.map_or(format!("{UNIT}-1"), |(name, _)| name.to_owned());
        let mut role = object(RBAC, "Role", &namespace, user);
        role["rules"] = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        let mut binding = object(RBAC, "RoleBinding", &namespace, user);
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user});
        binding["subjects"] =
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]);
        self.objects.extend([role, binding]);
        namespace
    }

    /// The namespaces of the unit that it may delete.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &str> {
        let namespaces = self.objects.iter().filter(|it| it["kind"] == "Namespace");
        namespaces.filter(|it| unit(it) == UNIT).map(crate::state::name)
    }

    /// The unit of a namespace that holds no object of the bystander, so that it can be torn down as a whole.
    pub(crate) fn exclusive_namespace(&self) -> UnitId {
        let mut names = self.objects.iter().filter_map(|object| {
            let name = text(object, "/metadata/name");
            (object["kind"] == "Namespace" && unit(object) == UNIT).then_some(name)
        });
        let others = |name: &str| {
            let mut objects = self.objects.iter();
            objects.any(|it| text(it, "/metadata/namespace") == name && unit(it) == BYSTANDER)
        };
        names.find(|name| !others(name)).map_or(UnitId::new(UNIT), UnitId::of_namespace)
    }
}

impl Generator<'_> {
    fn namespaces(&mut self) {
        for name in self.namespaces.clone() {
            let mut namespace = object("v1", "Namespace", "", &name);
            // A namespace without the label is not part of the unit and stays.
            if self.rng.u32(..8) > 0 {
                belongs(&mut namespace, UNIT);
            }
            self.application.objects.push(namespace);
        }
    }

    /// The next name with this prefix: `web-3`.
    fn name(&mut self, sort: &str) -> String {
        self.number += 1;
        format!("{sort}-{}", self.number)
    }

    fn namespace(&mut self) -> String {
        let at = self.rng.usize(..self.namespaces.len());
        self.namespaces[at].clone()
    }

    fn chance(&mut self, of_a_hundred: u32) -> bool {
        self.rng.u32(..100) < of_a_hundred
    }

    /// Adds an object of the unit.
    fn add(&mut self, mut object: Value) {
        belongs(&mut object, UNIT);
        self.application.objects.push(object);
    }

    fn add_for(&mut self, unit: &str, mut object: Value) {
        belongs(&mut object, unit);
        self.application.objects.push(object);
    }

    fn component(&mut self) {
        let namespace = self.namespace();
        match self.rng.u32(..22) {
            0..6 => self.deployment(UNIT, &namespace),
            6..9 => self.stateful_set(&namespace),
            9 => self.daemon_set(&namespace),
            10 => self.job(&namespace),
            11 => self.cron_job(&namespace),
            12 => self.pod(&namespace),
            13 | 14 => self.claim_alone(&namespace),
            15 => self.settings(&namespace),
            16 | 17 => self.people(&namespace),
            18 | 19 => self.custom(&namespace),
            20 => self.webhook(&namespace),
            _ => self.api_service(&namespace),
        }
    }

    /// A Role and a RoleBinding of people, which no Pod uses.
    fn people(&mut self, namespace: &str) {
        let name = self.name("people");
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        let mut role = object(RBAC, "Role", namespace, &name);
        role["rules"] = rules;
        let mut binding = object(RBAC, "RoleBinding", namespace, &name);
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        binding["subjects"] =
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "staff"}]);
        let claimed = self.chance(40);
        for it in [role, binding] {
            if claimed { self.add(it) } else { self.application.objects.push(it) }
        }
    }

    /// A CustomResourceDefinition with its objects and the Deployment that stands for their operator.
    fn custom(&mut self, namespace: &str) {
        if !self.definition {
            self.definition = true;
            let mut definition = object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "",
                "widgets.example.com",
            );
            definition["spec"] = json!({
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            });
            // One version is never converted, but the definition names who would do it.
            if self.chance(30) {
                let service = self.service_with_pods(namespace);
                let service = json!({"namespace": namespace, "name": service, "port": 443});
                definition["spec"]["conversion"] = json!({
                    "strategy": "Webhook",
                    "webhook": {
                        "clientConfig": {"service": service},
                        "conversionReviewVersions": ["v1"],
                    },
                });
            }
            self.add(definition);
            self.operator(namespace);
        }
        let name = self.name("widget");
        let mut widget = object("example.com/v1", "Widget", namespace, &name);
        if self.chance(60) {
            widget["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        self.add(widget);
    }

    /// The operator of the custom resources. Of some, nobody can see the rights.
    fn operator(&mut self, namespace: &str) {
        let name = self.name("operator");
        let mut operator = self.deployment_of(&name, namespace, 1);
        operator["metadata"]["labels"] = json!({OPERATOR: "widgets"});
        operator["spec"]["template"]["metadata"]["labels"][OPERATOR] = json!("widgets");
        if self.chance(70) {
            operator["spec"]["template"]["spec"]["serviceAccountName"] = json!(name);
            let account = object("v1", "ServiceAccount", namespace, &name);
            let mut role = object(RBAC, "ClusterRole", "", &name);
            role["rules"] = json!([{
                "apiGroups": ["example.com"], "resources": ["widgets/finalizers"], "verbs": ["update"],
            }]);
            let mut binding = object(RBAC, "ClusterRoleBinding", "", &name);
            binding["roleRef"] = json!({
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
            });
            binding["subjects"] =
                json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
            for it in [account, role, binding] {
                self.add(it);
            }
        }
        self.add(operator);
    }

    /// A Service with Pods behind it, for a webhook or an aggregated API to call.
    fn service_with_pods(&mut self, namespace: &str) -> String {
        let name = self.name("answer");
        self.plain_deployment(UNIT, namespace, &name, 1);
        let mut service = object("v1", "Service", namespace, &name);
        service["spec"] =
            json!({"selector": {"app": name}, "ports": [{"name": "https", "port": 443}]});
        self.add(service);
        self.application.backends.push((namespace.to_owned(), name.clone()));
        name
    }

    fn webhook(&mut self, namespace: &str) {
        self.webhook_of("ValidatingWebhookConfiguration", namespace);
    }

    fn webhook_of(&mut self, kind: &str, namespace: &str) {
        let service = self.service_with_pods(namespace);
        let name = self.name("check");
        let mut configuration = object("admissionregistration.k8s.io/v1", kind, "", &name);
        let webhook = format!("{name}.example.com");
        self.application.webhooks.push(webhook.clone());
        let fails = if self.chance(50) { "Fail" } else { "Ignore" };
        configuration["webhooks"] = json!([{
            "name": webhook,
            "clientConfig": {"service": {"namespace": namespace, "name": service, "port": 443}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps", "secrets"],
                "operations": ["DELETE"],
            }],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "failurePolicy": fails,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }]);
        self.add(configuration);
    }

    fn api_service(&mut self, namespace: &str) {
        let service = self.service_with_pods(namespace);
        let group = format!("{service}.example.org");
        let mut registration =
            object("apiregistration.k8s.io/v1", "APIService", "", &format!("v1beta1.{group}"));
        registration["spec"] = json!({
            "group": group, "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true,
            "service": {"namespace": namespace, "name": service, "port": 443},
        });
        self.add(registration);
    }

    /// The other application, with objects of its own and objects that it shares.
    fn bystander(&mut self) {
        let namespace = object("v1", "Namespace", "", BYSTANDER);
        self.add_for(BYSTANDER, namespace);
        self.plain_deployment(BYSTANDER, BYSTANDER, "other", 1);
        if self.chance(50) {
            let shared = self.namespace();
            self.guest(&shared);
        }
        if self.definition && self.chance(30) {
            let widget = object("example.com/v1", "Widget", BYSTANDER, "theirs");
            self.add_for(BYSTANDER, widget);
        }
        self.shared_volume();
    }

    /// An object of the bystander in a namespace of the unit.
    fn guest(&mut self, namespace: &str) {
        let used = |kind: &str, application: &Application| {
            let mut all = application.objects.iter();
            let found =
                all.find(|it| it["kind"] == kind && it["metadata"]["namespace"] == namespace);
            found.map(|it| it["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        };
        let config = used("ConfigMap", &self.application);
        let secret = used("Secret", &self.application);
        let claim = used("PersistentVolumeClaim", &self.application);
        let account = used("ServiceAccount", &self.application);
        let service = used("Service", &self.application);
        let mut guest = self.deployment_of("guest", namespace, 1);
        let mut volumes = vec![];
        if let Some(name) = config {
            volumes.push(json!({"name": "config", "configMap": {"name": name}}));
        }
        if let Some(name) = secret.filter(|_| self.chance(50)) {
            volumes.push(json!({"name": "secret", "secret": {"secretName": name}}));
        }
        if let Some(name) = claim.filter(|_| self.chance(50)) {
            volumes.push(json!({"name": "data", "persistentVolumeClaim": {"claimName": name}}));
        }
        let spec = &mut guest["spec"]["template"]["spec"];
        spec["volumes"] = Value::Array(volumes);
        if let Some(name) = account.filter(|_| self.chance(50)) {
            spec["serviceAccountName"] = json!(name);
        }
        self.add_for(BYSTANDER, guest);
        if let Some(name) = service.filter(|_| self.chance(50)) {
            let ingress = workload::ingress("guest", namespace, &name);
            self.add_for(BYSTANDER, ingress);
        }
    }
}

pub(crate) const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// An object that has only a name.
pub(crate) fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn belongs(object: &mut Value, unit: &str) {
    object["metadata"]["labels"][PART_OF] = json!(unit);
}
