//! The rights by which a ServiceAccount may remove a finalizer: to update or patch a resource, or its `/finalizers`. The right
//! to a `/status` shows which controller answers for a kind.

use std::{collections::HashMap, sync::Arc};

use crate::{
    index::Index,
    object::{Binding, Facts, Kind, Object, RBAC, ResourceRule, Role, Uid},
};

/// A ServiceAccount: namespace and name.
pub(super) type Account = (Arc<str>, Arc<str>);

/// The resources of the bindings.
const BINDINGS: [&str; 2] =
    ["rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io"];

/// The label of the roles that the API server makes and restores
/// (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings>).
const MADE_BY_KUBERNETES: (&str, &str) = ("kubernetes.io/bootstrapping", "rbac-defaults");

/// A ServiceAccount with a right, or all those of a namespace.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// The namespace of the account.
    pub(super) of: Arc<str>,
    /// The name of the account; none for the group of all accounts of the namespace.
    pub(super) account: Option<Arc<str>>,
    /// The namespace in which a RoleBinding gives the right; none for a ClusterRoleBinding.
    namespace: Option<Arc<str>>,
}

/// A ClusterRole from which an aggregated one has a rule.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) role: Uid,
    /// The name of the aggregated role.
    pub(super) aggregated: Arc<str>,
    /// The account to which the aggregated role is bound.
    holder: Holder,
}

impl Holder {
    /// Whether an account has the right.
    pub(super) fn is(&self, (of, name): &Account) -> bool {
        self.of == *of && self.account.as_ref().is_none_or(|account| account == name)
    }

    fn may_change_in(&self, namespace: Option<&Arc<str>>) -> bool {
        self.namespace.is_none() || self.namespace.as_ref() == namespace
    }
}

/// The holders of rights, by resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Rights {
    /// By group and resource, as far as a rule names both. A rule for all resources of a group has the resource `*`.
    named: HashMap<(Arc<str>, Arc<str>), Vec<Holder>>,
    /// Other rules with a `*`: the group and the resource as written.
    wildcards: Vec<(Arc<str>, Arc<str>, Holder)>,
    /// Rules for the group of all accounts of the cluster, with the namespace in which a RoleBinding gives them.
    open: Vec<(ResourceRule, Option<Arc<str>>)>,
    /// The holders of rules that name PersistentVolumes and let them delete them.
    volume_deleters: Vec<Holder>,
    /// The roles from which aggregated ones have their rules, by group and resource.
    sources: HashMap<(Arc<str>, Arc<str>), Vec<Source>>,
}

impl Rights {
    /// The rights that all bindings of the index give. A role that is hidden gives none.
    pub(super) fn of(index: &Index) -> Self {
        let mut rights = Self::default();
        let bindings = BINDINGS.into_iter().flat_map(|resource| index.of_resource(resource));
        bindings.for_each(|object| rights.bind(index, object, None));
        rights
    }

    /// The rights that the bindings of the index give to one account.
    pub(super) fn of_account(index: &Index, account: &Account) -> Self {
        let mut rights = Self::default();
        for resource in BINDINGS {
            let bindings = index.of_resource(resource);
            bindings.for_each(|object| rights.bind(index, object, Some(account)));
        }
        rights
    }

    /// Adds the rights that a binding gives to its accounts; to one of them, if only that is meant.
    fn bind(&mut self, index: &Index, object: &Object, only: Option<&Account>) {
        let Facts::Binding(binding) = &object.facts else { return };
        let is_meant = |(namespace, name): &Account| binding.names(namespace, name);
        let has_accounts = !binding.accounts.is_empty() || !binding.account_namespaces.is_empty();
        if !only.map_or(has_accounts || binding.all_accounts, is_meant) {
            return;
        }
        let Some(of_role) = role_object(index, object, binding) else { return };
        let Facts::Role(role) = &of_role.facts else { return };
        if binding.all_accounts {
            let namespace = object.namespace.clone();
            self.open.extend(role.updates.iter().map(|it| (it.clone(), namespace.clone())));
        }
        let holder = |of: &Arc<str>, account: Option<&Arc<str>>| Holder {
            of: of.clone(),
            account: account.cloned(),
            namespace: object.namespace.clone(),
        };
        let holders: Vec<Holder> = match only {
            Some((namespace, name)) => vec![holder(namespace, Some(name))],
            None => {
                let accounts = binding.accounts.iter().map(|(of, name)| holder(of, Some(name)));
                accounts
                    .chain(binding.account_namespaces.iter().map(|of| holder(of, None)))
                    .collect()
            }
        };
        for holder in &holders {
            role.updates.iter().for_each(|rule| self.add(rule, holder));
        }
        // They are in no namespace, so a RoleBinding gives no right to them.
        if role.deletes_volumes && object.namespace.is_none() {
            self.volume_deleters.extend(holders.iter().cloned());
        }
        if only.is_none() && !role.aggregates.is_empty() && !is_made_by_kubernetes(of_role) {
            self.collect(index, of_role, role, &holders);
        }
    }

    /// Adds the roles from which an aggregated one has the rules that it gives.
    fn collect(&mut self, index: &Index, aggregated: &Object, role: &Role, holders: &[Holder]) {
        for object in index.of_resource("clusterroles.rbac.authorization.k8s.io") {
            let Facts::Role(source) = &object.facts else { continue };
            if !role.aggregates.iter().any(|it| it.matches(&object.labels)) {
                continue;
            }
            for (group, resource) in source.updates.iter().flat_map(names_of) {
                let sources = self.sources.entry((group.clone(), resource.into())).or_default();
                sources.extend(holders.iter().map(|holder| Source {
                    role: object.uid.clone(),
                    aggregated: (*aggregated.name).into(),
                    holder: holder.clone(),
                }));
            }
        }
    }

    /// The roles from which an account has the right to change an object, through an aggregated role.
    pub(super) fn sources_of<'a>(
        &'a self,
        object: &'a Object,
        account: Account,
    ) -> impl Iterator<Item = &'a Source> + use<'a> {
        let of_resource = |resource: &str| {
            let key = (object.kind.group.clone(), resource.into());
            self.sources.get(&key).into_iter().flatten()
        };
        of_resource(&object.kind.plural).chain(of_resource("*")).filter(move |source| {
            source.holder.is(&account) && source.holder.may_change_in(object.namespace.as_ref())
        })
    }

    fn add(&mut self, rule: &ResourceRule, holder: &Holder) {
        for group in &rule.groups {
            for resource in &rule.resources {
                // Of the subresources only this one matters, and the resource itself.
                let base = resource.strip_suffix("/finalizers").unwrap_or(resource);
                let is_for_group = base == "*" && &**group != "*";
                if !is_for_group && (&**group == "*" || base.contains('*')) {
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

    /// The accounts that a rule by name lets change an object. A rule for all resources of an operator's group names the
    /// operator: `queue.example/*` is how many are installed. One for a group of Kubernetes, such as `apps/*`, names nobody, nor
    /// does one for a group that several operators share.
    pub(super) fn by_name<'a>(
        &'a self,
        object: &'a Object,
    ) -> impl Iterator<Item = &'a Holder> + use<'a> {
        self.of_operators_resource(object, &object.kind.plural)
    }

    /// The accounts that a rule by name lets write the status of an object.
    pub(super) fn of_status<'a>(
        &'a self,
        object: &'a Object,
    ) -> impl Iterator<Item = &'a Holder> + use<'a> {
        self.of_operators_resource(object, &format!("{}/status", object.kind.plural))
    }

    fn of_operators_resource<'a>(
        &'a self,
        object: &'a Object,
        resource: &str,
    ) -> impl Iterator<Item = &'a Holder> + use<'a> {
        let (kind, namespace) = (&object.kind, object.namespace.as_ref());
        let of_group =
            self.is_of_one_operator(object).then(|| self.of_resource(&kind.group, "*", namespace));
        self.of_resource(&kind.group, resource, namespace).chain(of_group.into_iter().flatten())
    }

    /// Whether a rule for all resources of an object's group names its operator. Where a rule by name gives somebody the status
    /// of the object, its operator is that one: the core provider of Cluster API has `infrastructure.cluster.x-k8s.io/*`, and
    /// each provider its own kinds of that group.
    fn is_of_one_operator(&self, object: &Object) -> bool {
        let (kind, namespace) = (&object.kind, object.namespace.as_ref());
        let is_named =
            |resource: &str| self.of_resource(&kind.group, resource, namespace).next().is_some();
        let has_its_own = is_named(&kind.plural) && is_named(&format!("{}/status", kind.plural));
        kind.is_an_operators() && !has_its_own
    }

    /// The accounts that a rule by name lets change the objects of a resource in a namespace; without one, everywhere.
    pub(super) fn of_resource<'a>(
        &'a self,
        group: &str,
        resource: &str,
        namespace: Option<&'a Arc<str>>,
    ) -> impl Iterator<Item = &'a Holder> + use<'a> {
        let key = (group.into(), resource.into());
        let holders = self.named.get(&key).into_iter().flatten();
        holders.filter(move |holder| holder.may_change_in(namespace))
    }

    /// The accounts that a rule by name lets delete PersistentVolumes, as a provisioner does.
    pub(super) fn of_volume_deleters(&self) -> impl Iterator<Item = &Holder> {
        self.volume_deleters.iter()
    }

    /// Whether an account may change or delete PersistentVolumes, by whatever rule.
    pub(super) fn may_change_volumes(&self, account: &Account) -> bool {
        let is_named = |resource| self.of_resource("", resource, None).any(|it| it.is(account));
        let is_of_volumes = |group: &str, resource: &str| {
            matches!(group, "" | "*") && matches!(resource, "*" | "*/*" | "persistentvolumes")
        };
        let is_wide = || {
            self.wildcards.iter().any(|(group, resource, holder)| {
                let is_everywhere = holder.namespace.is_none();
                is_everywhere && is_of_volumes(group, resource) && holder.is(account)
            })
        };
        let is_everyones = || {
            self.open.iter().any(|(rule, namespace)| {
                let of_group = |group| rule.resources.iter().any(|it| is_of_volumes(group, it));
                namespace.is_none() && rule.groups.iter().any(|group| of_group(group))
            })
        };
        self.volume_deleters.iter().any(|it| it.is(account))
            || is_named("persistentvolumes")
            || is_named("*")
            || is_wide()
            || is_everyones()
    }

    /// Whether every account of the cluster may change an object, so that this right distinguishes none.
    pub(super) fn are_everyones(&self, object: &Object) -> bool {
        self.open.iter().any(|(rule, namespace)| {
            let is_its_group = |group: &Arc<str>| &**group == "*" || *group == object.kind.group;
            let is_its_resource = |resource: &Arc<str>| {
                let base = resource.strip_suffix("/finalizers").unwrap_or(resource);
                base == "*" || *base == *object.kind.plural
            };
            (namespace.is_none() || *namespace == object.namespace)
                && rule.groups.iter().any(is_its_group)
                && rule.resources.iter().any(is_its_resource)
        })
    }

    /// The accounts that only a rule with a `*` lets change an object.
    pub(super) fn by_wildcard<'a>(
        &'a self,
        object: &'a Object,
    ) -> impl Iterator<Item = &'a Holder> + use<'a> {
        let (kind, namespace) = (&object.kind, object.namespace.as_ref());
        let of_group = (!self.is_of_one_operator(object))
            .then(|| self.of_resource(&kind.group, "*", namespace));
        let others = self
            .wildcards
            .iter()
            .filter(|(group, resource, holder)| {
                covers(group, resource, &object.kind)
                    && holder.may_change_in(object.namespace.as_ref())
            })
            .map(|(.., holder)| holder);
        others.chain(of_group.into_iter().flatten())
    }
}

/// Whether a rule that names PersistentVolumes lets an account delete them, as a CSI provisioner does and an attacher does not.
pub(super) fn may_delete_volumes(index: &Index, account: &Account) -> bool {
    // They are in no namespace, so a RoleBinding gives no right to them.
    let bindings = index.of_resource("clusterrolebindings.rbac.authorization.k8s.io");
    let mut roles = bindings.filter_map(|object| match &object.facts {
        Facts::Binding(binding) if binding.names(&account.0, &account.1) => {
            role_of(index, object, binding)
        }
        _ => None,
    });
    roles.any(|role| role.deletes_volumes)
}

/// The role that a binding gives; none if it is hidden.
fn role_of<'a>(index: &'a Index, object: &Object, binding: &Binding) -> Option<&'a Role> {
    match &role_object(index, object, binding)?.facts {
        Facts::Role(role) => Some(role),
        _ => None,
    }
}

fn role_object<'a>(
    index: &'a Index,
    object: &Object,
    binding: &Binding,
) -> Option<&'a Arc<Object>> {
    let namespace = object.namespace.as_deref().filter(|_| &*binding.role_kind == "Role");
    index.find(RBAC, &binding.role_kind, namespace, &binding.role)
}

/// The groups and resources that a rule names, with the resource `*` for all those of a group. Of the subresources only
/// `/finalizers` counts, as the resource itself.
fn names_of(rule: &ResourceRule) -> impl Iterator<Item = (&Arc<str>, &str)> {
    let bases =
        move || rule.resources.iter().map(|it| it.strip_suffix("/finalizers").unwrap_or(it));
    let groups = rule.groups.iter().filter(|group| &***group != "*");
    groups.flat_map(move |group| {
        bases().filter(|base| !base.contains('/')).map(move |base| (group, base))
    })
}

fn covers(group: &str, resource: &str, kind: &Kind) -> bool {
    (group == "*" || *group == *kind.group)
        && (matches!(resource, "*" | "*/*") || *resource == *kind.plural)
}

/// Whether Kubernetes itself made a role.
pub(super) fn is_made_by_kubernetes(role: &Object) -> bool {
    let (label, value) = MADE_BY_KUBERNETES;
    role.labels.get(label).is_some_and(|it| **it == *value)
}
