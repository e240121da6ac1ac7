//! What stands between a request and the store beside validation: the built-in admission plugins that deletion meets,
//! and webhooks.

use serde_json::{Value, json};

use super::{Actor, Cluster, Write};
use crate::{
    kind::Kind,
    object,
    patch::Patch,
    status::{Cause, Status},
    store::Key,
};

/// What is done to an object, as admission names it.
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

/// What is to be decided on.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    pub(super) actor: &'a Actor,
    pub(super) write: &'a Write,
    pub(super) operation: Operation,
    pub(super) key: &'a Key,
    /// The name in the request, which has none for a collection.
    pub(super) name: &'a str,
    pub(super) subresource: &'a str,
    /// As it would be; null for a DELETE.
    pub(super) object: &'a Value,
    /// As it is; none for a CREATE.
    pub(super) existing: Option<&'a Value>,
}

/// What policies are declared with. Neither they nor webhooks are asked about these.
const POLICIES: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// What webhooks are declared with. Webhooks are not asked about these.
const WEBHOOKS: [&str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

fn is_one(gates: &[&str], key: &Key) -> bool {
    &*key.group == "admissionregistration.k8s.io" && gates.contains(&&*key.plural)
}

/// Namespaces that nobody may delete.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What `StorageObjectInUseProtection` puts on new objects.
const PROTECTIONS: [(&str, &str, &str); 3] = [
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

impl Cluster {
    /// `NamespaceLifecycle`: nothing new where there is no namespace, or one that ends.
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

    /// `NamespaceLifecycle`: three namespaces stay.
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

    /// Asks every plugin, webhook and policy about something new or changed. `object` may be changed by them.
    #[expect(clippy::too_many_arguments, reason = "the attributes of admission are that many")]
    pub(super) fn admit(
        &mut self,
        actor: &Actor,
        write: &Write,
        operation: Operation,
        key: &Key,
        subresource: &str,
        object: &mut Value,
        existing: Option<&Value>,
    ) -> Result<(), Status> {
        // `NamespaceLifecycle` lets only DELETE through where the namespace is gone.
        if operation == Operation::Update && !key.namespace.is_empty() {
            let namespace = Key::new("", "namespaces", "", &key.namespace);
            if self.get(&namespace).is_none() {
                return Err(Status::not_found("", "namespaces", &key.namespace));
            }
        }
        if operation == Operation::Create && subresource.is_empty() {
            for (group, plural, finalizer) in PROTECTIONS {
                if key.is_of(group, plural) {
                    object::add_finalizer(object, finalizer);
                }
            }
            if key.is_of("", "pods") {
                self.has_account(key, object)?;
                tolerate_for_a_while(object, self.toleration);
            }
            if key.is_of("", "persistentvolumeclaims") {
                self.default_storage_class(object);
            }
        }
        let kind = self.kind(key)?;
        let name = &*key.name;
        let nothing = &Value::Null;
        let asked = Attributes {
            actor,
            write,
            operation,
            key,
            name,
            subresource,
            object: nothing,
            existing,
        };
        for patch in self.ask_who_changes(&Attributes { object, ..asked })? {
            *object = patch.apply(&kind, object)?;
        }
        self.ask_who_decides(&Attributes { object, ..asked })
    }

    /// Asks the webhooks that may change what is asked for, which none is where nothing is written.
    pub(super) fn ask_who_changes(&self, asked: &Attributes<'_>) -> Result<Vec<Patch>, Status> {
        if is_one(&POLICIES, asked.key) || is_one(&WEBHOOKS, asked.key) {
            return Ok(vec![]);
        }
        self.ask_webhooks("mutatingwebhookconfigurations", asked)
    }

    /// Asks policies, and the webhooks that only decide.
    pub(super) fn ask_who_decides(&self, asked: &Attributes<'_>) -> Result<(), Status> {
        // What stands at the gate could not be got rid of if it were asked about itself.
        if is_one(&POLICIES, asked.key) {
            return Ok(());
        }
        self.ask_policies(asked)?;
        if !is_one(&WEBHOOKS, asked.key) {
            self.ask_webhooks("validatingwebhookconfigurations", asked)?;
        }
        Ok(())
    }

    /// `ServiceAccount`: nobody runs as who is not there. The real one waits a while for the account `default`, which
    /// comes after its namespace; here nobody can wait, so it is taken to come.
    fn has_account(&self, key: &Key, pod: &Value) -> Result<(), Status> {
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
