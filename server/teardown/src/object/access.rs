//! Access control: roles, their bindings, and the accounts that have rights through them.

use std::sync::Arc;

use super::PodReference;
use crate::selector::Selector;

/// The group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// The stored fields of a RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `roleRef.kind`: Role or ClusterRole.
    pub role_kind: Arc<str>,
    /// `roleRef.name`.
    pub role: Arc<str>,
    /// ServiceAccounts among its subjects, as objects or by the name of their user: namespace and name.
    pub accounts: Box<[(Arc<str>, Arc<str>)]>,
    /// The namespaces all of whose ServiceAccounts are among its subjects, as a group.
    pub account_namespaces: Box<[Arc<str>]>,
    /// The group of all ServiceAccounts of the cluster is among its subjects.
    pub all_accounts: bool,
    /// Other users or groups are among its subjects.
    pub people: bool,
}

impl Binding {
    /// Whether it names a ServiceAccount, alone or with all others of its namespace. The group of all accounts names none.
    pub(crate) fn names(&self, namespace: &str, account: &str) -> bool {
        self.account_namespaces.iter().any(|it| **it == *namespace)
            || self.accounts.iter().any(|(of, name)| **of == *namespace && **name == *account)
    }

    /// The namespaces whose Pods it goes after because it names all their accounts. A RoleBinding goes after those of its own
    /// namespace only: `system:image-puller` for all accounts of another is access, and no sign that a Pod there needs it.
    pub(crate) fn served_groups(&self, own: Option<&Arc<str>>) -> impl Iterator<Item = &Arc<str>> {
        self.account_namespaces.iter().filter(move |it| own.is_none_or(|own| own == *it))
    }

    /// Whether it gives access to its namespace to others than the programs in it: to people, or to all accounts of another
    /// namespace.
    pub(crate) fn is_access(&self, own: Option<&Arc<str>>) -> bool {
        self.people || self.other_groups(own).next().is_some()
    }

    /// The namespaces other than its own all of whose accounts a RoleBinding names.
    pub(crate) fn other_groups(&self, own: Option<&Arc<str>>) -> impl Iterator<Item = &Arc<str>> {
        self.account_namespaces.iter().filter(move |it| own.is_some_and(|own| own != *it))
    }
}

/// The stored fields of a Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The rules that let its holders update or patch something, which is how a finalizer is removed.
    pub updates: Box<[ResourceRule]>,
    /// A rule that names PersistentVolumes lets its holders delete them, as a provisioner does.
    pub deletes_volumes: bool,
    /// `aggregationRule.clusterRoleSelectors`: a controller copies the rules of the ClusterRoles that one of them matches.
    pub aggregates: Box<[Selector]>,
}

/// The groups and resources of one rule, `*` included, without its verbs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// `apiGroups`.
    pub groups: Box<[Arc<str>]>,
    /// `resources`, with subresources as `topics/finalizers`.
    pub resources: Box<[Arc<str>]>,
}

/// The stored fields of a ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceAccount {
    /// The names that it refers to in its own namespace.
    pub uses: Arc<[PodReference]>,
}
