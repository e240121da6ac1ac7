//! Access control: roles, role bindings and ServiceAccounts.

use std::sync::Arc;

use serde::Deserialize;
use teardown::object::{
    Binding, Facts, PodReference, PodReferenceKind, ResourceRule, Role, ServiceAccount,
};

use super::{Meta, Named, Unreadable, or_default};

/// Reads a RoleBinding or ClusterRoleBinding. Users and groups among its subjects are not objects, so only their presence
/// is kept.
pub(super) fn read_binding(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let read: BindingObject = serde_json::from_str(json)?;
    let own = read.metadata.namespace.clone().unwrap_or_default();
    let people = read.subjects.iter().any(|subject| matches!(&*subject.kind, "User" | "Group"));
    let binding = Binding {
        role_kind: read.role_ref.kind,
        role: read.role_ref.name,
        people,
        accounts: read
            .subjects
            .into_iter()
            .filter(|subject| &*subject.kind == "ServiceAccount")
            .map(|subject| {
                let namespace = subject.namespace.filter(|name| !name.is_empty());
                (namespace.unwrap_or_else(|| own.clone()), subject.name)
            })
            .collect(),
    };
    Ok((read.metadata, Facts::Binding(Box::new(binding))))
}

/// Reads a Role or ClusterRole. Of its rules only those are kept that let their holders remove a finalizer, and whether one
/// lets them delete PersistentVolumes. The rules of an aggregated ClusterRole are in the object too: its controller fills them in.
pub(super) fn read_role(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let read: RoleObject = serde_json::from_str(json)?;
    let may_update =
        |rule: &Rule| rule.verbs.iter().any(|verb| matches!(&**verb, "update" | "patch" | "*"));
    let deletes_volumes = read.rules.iter().any(Rule::deletes_volumes);
    let updates = read
        .rules
        .into_iter()
        .filter(|rule| may_update(rule) && !rule.resources.is_empty())
        .map(|rule| ResourceRule { groups: rule.api_groups, resources: rule.resources });
    let role = Role { updates: updates.collect(), deletes_volumes };
    Ok((read.metadata, Facts::Role(Box::new(role))))
}

/// Reads a ServiceAccount.
pub(super) fn read_account(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let read: AccountObject = serde_json::from_str(json)?;
    let mut uses: Vec<PodReference> = Vec::new();
    for (field, list) in
        [("secrets", &read.secrets), ("imagePullSecrets", &read.image_pull_secrets)]
    {
        for (i, secret) in list.iter().enumerate() {
            let Some(name) = secret.get() else { continue };
            if uses.iter().all(|used| &*used.name != name) {
                let field = format!("{field}[{i}].name").into();
                uses.push(PodReference {
                    what: PodReferenceKind::Secret,
                    name: name.into(),
                    field,
                });
            }
        }
    }
    let account = ServiceAccount { uses: uses.into() };
    Ok((read.metadata, Facts::ServiceAccount(Box::new(account))))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BindingObject {
    metadata: Meta,
    role_ref: RoleRef,
    #[serde(default, deserialize_with = "or_default")]
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
struct RoleRef {
    kind: Arc<str>,
    name: Arc<str>,
}

#[derive(Deserialize)]
struct Subject {
    kind: Arc<str>,
    name: Arc<str>,
    #[serde(default)]
    namespace: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct RoleObject {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default, deserialize_with = "or_default")]
    verbs: Vec<Box<str>>,
    #[serde(default, deserialize_with = "or_default")]
    api_groups: Box<[Arc<str>]>,
    #[serde(default, deserialize_with = "or_default")]
    resources: Box<[Arc<str>]>,
}

impl Rule {
    fn deletes_volumes(&self) -> bool {
        self.verbs.iter().any(|verb| matches!(&**verb, "delete" | "*"))
            && self.api_groups.iter().any(|group| group.is_empty())
            && self.resources.iter().any(|resource| &**resource == "persistentvolumes")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountObject {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    secrets: Vec<Named>,
    #[serde(default, deserialize_with = "or_default")]
    image_pull_secrets: Vec<Named>,
}
