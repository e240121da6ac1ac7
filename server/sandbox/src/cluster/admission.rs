//! Admission: the built-in plugins that matter for deletion, and webhooks.

use serde_json::{Value, json};

use super::{Actor, Cluster, Write};
use crate::{
    kind::Kind,
    object,
    status::{Cause, Status},
    store::Key,
};

/// The operation, as admission names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The request that admission decides on.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    pub(super) actor: &'a Actor,
    pub(super) write: &'a Write,
    pub(super) operation: Operation,
    pub(super) key: &'a Key,
    /// The name in the request, which is empty for a collection.
    pub(super) name: &'a str,
    pub(super) subresource: &'a str,
    /// The new object; null for a DELETE.
    pub(super) object: &'a Value,
    /// The stored object; `None` for a CREATE.
    pub(super) existing: Option<&'a Value>,
}

impl Attributes<'_> {
    /// Whether the request is about webhooks or policies themselves, for which webhooks are not called.
    pub(super) fn is_about_gates(&self) -> bool {
        is_one(&POLICIES, self.key) || is_one(&WEBHOOKS, self.key)
    }
}

/// The kinds that declare policies. Neither policies nor webhooks apply to them.
const POLICIES: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// The kinds that declare webhooks. Webhooks do not apply to them.
const WEBHOOKS: [&str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

fn is_one(gates: &[&str], key: &Key) -> bool {
    &*key.group == "admissionregistration.k8s.io" && gates.contains(&&*key.plural)
}

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The finalizers that `StorageObjectInUseProtection` adds to new objects.
const PROTECTIONS: [(&str, &str, &str); 3] = [
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

impl Cluster {
    /// `NamespaceLifecycle`: refuses new objects in a namespace that does not exist or is being deleted.
    pub(super) fn may_hold(&self, kind: &Kind, key: &Key) -> Result<(), Status> {
        if !kind.namespaced {
            return Ok(());
        }
        let namespace = self.get(&Key::new("", "namespaces", "", &key.namespace));
        let namespace =
            namespace.ok_or_else(|| Status::not_found("", "namespaces", &key.namespace))?;
        if object::text(namespace, &["status", "phase"]) != "Terminating" {
            return Ok(());
        }
        let name = &key.namespace;
        let why = format!(
            "unable to create new content in namespace {name} because it is being terminated"
        );
        Err(Status::forbidden(&key.group, &key.plural, &key.name, &why).because(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {name} is being terminated"),
            field: "metadata.namespace".into(),
        }))
    }

    /// `NamespaceLifecycle`: three namespaces cannot be deleted.
    pub(super) fn may_delete(&self, key: &Key) -> Result<(), Status> {
        if key.is_of("", "namespaces") && IMMORTAL.contains(&&*key.name) {
            return Err(Status::forbidden(
                "",
                "namespaces",
                &key.name,
                "this namespace may not be deleted",
            ));
        }
        Ok(())
    }

    /// `NamespaceLifecycle`: allows only DELETE where the namespace is gone.
    pub(super) fn may_change(&self, key: &Key) -> Result<(), Status> {
        let namespace = Key::new("", "namespaces", "", &key.namespace);
        if !key.namespace.is_empty() && self.get(&namespace).is_none() {
            return Err(Status::not_found("", "namespaces", &key.namespace));
        }
        Ok(())
    }

    /// Lets the built-in plugins change a new object.
    pub(super) fn admit_new(&mut self, key: &Key, object: &mut Value) -> Result<(), Status> {
        for (group, plural, finalizer) in PROTECTIONS {
            if key.is_of(group, plural) {
                object::add_finalizer(object, finalizer);
            }
        }
        if key.is_of("", "pods") {
            self.check_account(key, object)?;
            tolerate_for_a_while(object, self.toleration);
        }
        if key.is_of("", "persistentvolumeclaims") {
            self.default_storage_class(object);
        }
        Ok(())
    }

    /// Evaluates the policies and calls the validating webhooks.
    pub(super) fn decide(&self, asked: &Attributes<'_>) -> Result<(), Status> {
        // A policy that could refuse its own deletion could not be removed.
        if is_one(&POLICIES, asked.key) {
            return Ok(());
        }
        self.ask_policies(asked)?;
        self.ask_webhooks(asked)
    }

    /// `ServiceAccount`: refuses a Pod whose account does not exist. Kubernetes waits a while for the account
    /// `default`, which is created after its namespace; the sandbox assumes that it will be created.
    fn check_account(&self, key: &Key, pod: &Value) -> Result<(), Status> {
        let name = object::text(pod, &["spec", "serviceAccountName"]);
        let account = Key::new("", "serviceaccounts", &key.namespace, name);
        if ["", "default"].contains(&name) || self.get(&account).is_some() {
            return Ok(());
        }
        let why = format!(
            "error looking up service account {}/{name}: serviceaccount {name:?} not found",
            key.namespace
        );
        Err(Status::forbidden("", "pods", &key.name, &why))
    }

    /// `DefaultStorageClass`.
    fn default_storage_class(&self, claim: &mut Value) {
        if !claim["spec"]["storageClassName"].is_null() {
            return;
        }
        let is_default = |class: &Value| {
            let annotation = object::text(
                class,
                &["metadata", "annotations", "storageclass.kubernetes.io/is-default-class"],
            );
            annotation == "true"
        };
        if let Some(class) =
            self.list("storage.k8s.io", "storageclasses", None).find(|class| is_default(class))
        {
            let name = json!(object::name(class));
            object::set(claim, &["spec", "storageClassName"], name);
        }
    }
}

/// `DefaultTolerationSeconds`: a Pod stays five minutes on a node that is not ready or not reachable.
fn tolerate_for_a_while(pod: &mut Value, toleration: std::time::Duration) {
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |one: &Value| {
            let effect = object::text(one, &["effect"]);
            ["", key].contains(&object::text(one, &["key"])) && ["", "NoExecute"].contains(&effect)
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": toleration.as_secs()}),
            );
        }
    }
    object::set(pod, &["spec", "tolerations"], tolerations.into());
}
