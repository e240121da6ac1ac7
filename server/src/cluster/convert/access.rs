//! Access control: roles, role bindings and ServiceAccounts.

use std::sync::Arc;

use serde::Deserialize;
use teardown::{
    object::{Binding, Facts, PodReference, PodReferenceKind, ResourceRule, Role, ServiceAccount},
    selector::Selector,
};

use super::{LabelSelector, Meta, Named, Unreadable, or_default};

/// Reads a RoleBinding or ClusterRoleBinding. Users and groups among its subjects are not objects, so only their presence
/// is kept, unless they are ServiceAccounts
/// (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects>).
pub(super) fn read_binding(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let read: BindingObject = serde_json::from_str(json)?;
    let own = read.metadata.namespace.clone().unwrap_or_default();
    let (mut accounts, mut account_namespaces) = (Vec::new(), Vec::new());
    let (mut all_accounts, mut people) = (false, false);
    for subject in read.subjects {
        match subject.names(&own) {
            Some(Bound::Account(namespace, name)) => accounts.push((namespace, name)),
            Some(Bound::AccountsOf(namespace)) => account_namespaces.push(namespace),
            Some(Bound::AllAccounts) => all_accounts = true,
            Some(Bound::People) => people = true,
            None => {}
        }
    }
    let binding = Binding {
        role_kind: read.role_ref.kind,
        role: read.role_ref.name,
        people,
        accounts: accounts.into(),
        account_namespaces: account_namespaces.into(),
        all_accounts,
    };
    Ok((read.metadata, Facts::Binding(Box::new(binding))))
}

/// Reads a Role or ClusterRole. Of its rules only those are kept that let their holders remove a finalizer, and whether one
/// lets them delete PersistentVolumes. The rules of an aggregated ClusterRole are in the object too: its controller fills them in,
/// from the ClusterRoles that its selectors match.
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
    let selectors = read.aggregation_rule.cluster_role_selectors;
    let aggregates = selectors.into_iter().map(Selector::from).collect();
    let role = Role { updates: updates.collect(), deletes_volumes, aggregates };
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

/// The subject that a binding names.
enum Bound {
    /// A ServiceAccount, by namespace and name.
    Account(Arc<str>, Arc<str>),
    /// All ServiceAccounts of a namespace.
    AccountsOf(Arc<str>),
    /// All ServiceAccounts of the cluster.
    AllAccounts,
    /// Another user or group.
    People,
}

impl Subject {
    /// The subject that it names; none of a kind that RBAC does not know. An account in no namespace has that of the binding.
    fn names(self, own: &Arc<str>) -> Option<Bound> {
        let is_word = |it: &&str| !it.is_empty() && !it.contains(':');
        match &*self.kind {
            "ServiceAccount" => {
                let namespace = self.namespace.filter(|name| !name.is_empty());
                Some(Bound::Account(namespace.unwrap_or_else(|| own.clone()), self.name))
            }
            "User" => {
                let user = self.name.strip_prefix("system:serviceaccount:");
                let account = user.and_then(|user| user.split_once(':'));
                let account = account.filter(|(of, name)| is_word(of) && is_word(name));
                Some(
                    account
                        .map_or(Bound::People, |(of, name)| Bound::Account(of.into(), name.into())),
                )
            }
            "Group" if &*self.name == "system:serviceaccounts" => Some(Bound::AllAccounts),
            "Group" => {
                let of = self.name.strip_prefix("system:serviceaccounts:").filter(is_word);
                Some(of.map_or(Bound::People, |of| Bound::AccountsOf(of.into())))
            }
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleObject {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    rules: Vec<Rule>,
    #[serde(default, deserialize_with = "or_default")]
    aggregation_rule: AggregationRule,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregationRule {
    #[serde(default, deserialize_with = "or_default")]
    cluster_role_selectors: Vec<LabelSelector>,
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
