//! The rights by which a ServiceAccount may remove a finalizer: to update or patch a resource, or its `/finalizers`. The right
//! to a `/status` shows which controller answers for a kind.

use std::{collections::HashMap, sync::Arc};

use crate::{
    index::Index,
    object::{Binding, Facts, Kind, Object, ResourceRule, Role},
};

/// A ServiceAccount: namespace and name.
pub(super) type Account = (Arc<str>, Arc<str>);

/// The resources of the bindings.
const BINDINGS: [&str; 2] =
    ["rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io"];

/// A ServiceAccount with a right.
#[derive(Clone, Debug)]
struct Holder {
    account: Account,
    /// The namespace in which a RoleBinding gives the right; none for a ClusterRoleBinding.
    namespace: Option<Arc<str>>,
}

impl Holder {
    fn may_change_in(&self, namespace: Option<&Arc<str>>) -> bool {
        self.namespace.is_none() || self.namespace.as_ref() == namespace
    }
}

/// The holders of rights, by resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Rights {
    /// By group and resource, as far as a rule names both.
    named: HashMap<(Arc<str>, Arc<str>), Vec<Holder>>,
    /// Rules with a `*`: the group and the resource as written.
    wildcards: Vec<(Arc<str>, Arc<str>, Holder)>,
}

impl Rights {
    /// The rights that all bindings of the index give. A role that is hidden gives none.
    pub(super) fn of(index: &Index) -> Self {
        let mut rights = Self::default();
        let bindings = BINDINGS.into_iter().flat_map(|resource| index.of_resource(resource));
        bindings.for_each(|object| rights.bind(index, object, |_| true));
        rights
    }

    /// The rights that the bindings of the index give to one account.
    pub(super) fn of_account(index: &Index, account: &Account) -> Self {
        let mut rights = Self::default();
        for resource in BINDINGS {
            let bindings = index.of_resource(resource);
            bindings.for_each(|object| rights.bind(index, object, |it| it == account));
        }
        rights
    }

    /// Adds the rights that a binding gives to these accounts.
    fn bind(&mut self, index: &Index, object: &Object, is_meant: impl Fn(&Account) -> bool) {
        let Facts::Binding(binding) = &object.facts else { return };
        let mut accounts = binding.accounts.iter().filter(|account| is_meant(account)).peekable();
        if accounts.peek().is_none() {
            return;
        }
        let Some(role) = role_of(index, object, binding) else { return };
        for account in accounts {
            let holder = Holder { account: account.clone(), namespace: object.namespace.clone() };
            role.updates.iter().for_each(|rule| self.add(rule, &holder));
        }
    }

    fn add(&mut self, rule: &ResourceRule, holder: &Holder) {
        for group in &rule.groups {
            for resource in &rule.resources {
                // Of the subresources only this one matters, and the resource itself.
                let base = resource.strip_suffix("/finalizers").unwrap_or(resource);
                if &**group == "*" || base.contains('*') {
                    self.wildcards.push((group.clone(), base.into(), holder.clone()));
                } else if !base.contains('/') || base.ends_with("/status") {
                    self.named
                        .entry((group.clone(), base.into()))
                        .or_default()
                        .push(holder.clone());
                }
            }
        }
    }

    /// The accounts that a rule by name lets change an object.
    pub(super) fn by_name<'a>(
        &'a self,
        object: &'a Object,
    ) -> impl Iterator<Item = &'a Account> + use<'a> {
        self.of_resource(&object.kind.group, &object.kind.plural, object.namespace.as_ref())
    }

    /// The accounts that a rule by name lets change the objects of a resource in a namespace; without one, everywhere.
    pub(super) fn of_resource<'a>(
        &'a self,
        group: &str,
        resource: &str,
        namespace: Option<&'a Arc<str>>,
    ) -> impl Iterator<Item = &'a Account> + use<'a> {
        let key = (group.into(), resource.into());
        let holders = self.named.get(&key).into_iter().flatten();
        holders.filter(move |holder| holder.may_change_in(namespace)).map(|holder| &holder.account)
    }

    /// The accounts that only a rule with a `*` lets change an object.
    pub(super) fn by_wildcard<'a>(
        &'a self,
        object: &'a Object,
    ) -> impl Iterator<Item = &'a Account> + use<'a> {
        self.wildcards
            .iter()
            .filter(|(group, resource, holder)| {
                covers(group, resource, &object.kind)
                    && holder.may_change_in(object.namespace.as_ref())
            })
            .map(|(.., holder)| &holder.account)
    }
}

/// Whether a rule that names PersistentVolumes lets an account delete them, as a CSI provisioner does and an attacher does not.
pub(super) fn may_delete_volumes(index: &Index, account: &Account) -> bool {
    // They are in no namespace, so a RoleBinding gives no right to them.
    let bindings = index.of_resource("clusterrolebindings.rbac.authorization.k8s.io");
    let mut roles = bindings.filter_map(|object| match &object.facts {
        Facts::Binding(binding) if binding.accounts.contains(account) => {
            role_of(index, object, binding)
        }
        _ => None,
    });
    roles.any(|role| role.deletes_volumes)
}

/// The role that a binding gives; none if it is hidden.
fn role_of<'a>(index: &'a Index, object: &Object, binding: &Binding) -> Option<&'a Role> {
    let namespace = object.namespace.as_deref().filter(|_| &*binding.role_kind == "Role");
    let group = "rbac.authorization.k8s.io";
    match &index.find(group, &binding.role_kind, namespace, &binding.role)?.facts {
        Facts::Role(role) => Some(role),
        _ => None,
    }
}

fn covers(group: &str, resource: &str, kind: &Kind) -> bool {
    (group == "*" || *group == *kind.group)
        && (matches!(resource, "*" | "*/*") || *resource == *kind.plural)
}
