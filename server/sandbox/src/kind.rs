//! Kinds: the discovery of each kind, and its deletion rules. A table has the built-in kinds; CustomResourceDefinitions
//! add and remove others.

mod custom;
mod element;
mod shape;
mod table;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde_json::Value;

pub use custom::{accepted, kinds_of, stored_versions};
pub(crate) use element::Element;
pub(crate) use shape::{List, Shape};

/// The propagation policy of a DELETE whose request names none (`DefaultGarbageCollectionPolicy` of the kind's
/// strategy).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependents {
    /// Background: the garbage collector deletes the dependents once the owner is gone.
    Deleted,
    /// Orphan: the API server adds the finalizer `orphan`.
    Orphaned,
    /// The kind is not garbage collected, and a requested policy is ignored (Events).
    Unsupported,
}

/// One kind in one served version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub verbs: Vec<String>,
    pub subresources: Vec<Subresource>,
    /// Whether the kind maintains `metadata.generation`.
    pub generation: bool,
    pub dependents: Dependents,
    /// Whether a PUT without a resource version replaces the object unconditionally.
    pub unconditional_update: bool,
    /// The name of the CustomResourceDefinition that declares the kind; empty for built-in kinds.
    pub definition: String,
    /// The name of the APIService whose server has the kind; empty for a kind that this server stores itself.
    pub api_service: String,
    /// The conversion webhook of the CustomResourceDefinition; null if there is none.
    pub converter: Value,
    /// The version as the CustomResourceDefinition declares it: schema, columns, subresources. Null for built-in kinds.
    pub declared: Value,
    /// The first revision at which the server has the kind.
    pub since: u64,
}

/// A subresource: a path below that of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    pub name: String,
    /// The group of the request and response body, if it is another kind: `autoscaling/v1 Scale`.
    pub group: String,
    pub version: String,
    pub kind: String,
    pub verbs: Vec<String>,
}

impl Kind {
    /// The apiVersion: `v1`, `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    #[must_use]
    pub fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }

    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| one.name == name)
    }

    /// Whether objects of the kind are stored. Reviews, for example, are only answered.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.has("list")
    }

    /// The error of Go's schemes for an object of the kind `other` of the same version where this kind is expected.
    #[must_use]
    pub fn no_conversion(&self, other: &str) -> String {
        let of_group = self.group.split('.').next().filter(|group| !group.is_empty());
        format!(
            "converting ({}.{other}) to ({}.{}): unknown conversion",
            self.version,
            of_group.unwrap_or("core"),
            self.kind
        )
    }

    /// Whether the kind comes from a CustomResourceDefinition.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        !self.definition.is_empty()
    }
}

/// All kinds that are served now. The first version of a resource is the stored and preferred one.
#[derive(Debug, Clone)]
pub struct Kinds {
    /// The versions of each resource, by group and plural.
    by_resource: BTreeMap<String, BTreeMap<String, Vec<Arc<Kind>>>>,
}

impl Default for Kinds {
    fn default() -> Self {
        Self::new()
    }
}

impl Kinds {
    /// The built-in kinds.
    #[must_use]
    pub fn new() -> Self {
        let mut kinds = Self { by_resource: BTreeMap::new() };
        for kind in table::built_in() {
            kinds.insert(kind);
        }
        kinds
    }

    /// The stored version of a resource.
    #[must_use]
    pub fn get(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.versions(group, plural).first()
    }

    /// A resource in one version.
    #[must_use]
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.versions(group, plural).iter().find(|kind| kind.version == version)
    }

    /// All versions of a resource, the stored one first.
    #[must_use]
    pub fn versions(&self, group: &str, plural: &str) -> &[Arc<Kind>] {
        let of_group = self.by_resource.get(group);
        of_group.and_then(|of_group| of_group.get(plural)).map_or(&[], Vec::as_slice)
    }

    /// The stored version of the resource with this kind, as ownerReferences name it.
    #[must_use]
    pub fn by_kind(&self, group: &str, kind: &str) -> Option<&Arc<Kind>> {
        let of_group = self.by_resource.get(group).into_iter().flat_map(BTreeMap::values);
        of_group
            .filter_map(|versions| versions.first())
            .find(|one| one.kind == kind && one.is_stored())
    }

    /// The version of a resource that clients choose through discovery. For a CustomResourceDefinition it is the
    /// highest version, whichever is stored.
    #[must_use]
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        let versions = self.versions(group, plural);
        let custom = versions.iter().filter(|kind| kind.is_custom());
        custom.min_by_key(|kind| version_order(&kind.version)).or(versions.first())
    }

    /// Every resource in its stored version, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.by_resource.values().flat_map(BTreeMap::values).filter_map(|versions| versions.first())
    }

    /// Every resource in every version that is served.
    pub fn iter_versions(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.by_resource.values().flat_map(BTreeMap::values).flatten()
    }

    /// Adds a version of a resource; the first added is the stored one.
    pub fn insert(&mut self, kind: Kind) {
        let of_group = self.by_resource.entry(kind.group.clone()).or_default();
        let versions = of_group.entry(kind.plural.clone()).or_default();
        match versions.iter_mut().find(|one| one.version == kind.version) {
            Some(one) => *one = Arc::new(kind),
            None => versions.push(Arc::new(kind)),
        }
    }

    /// Stops serving the kinds of a CustomResourceDefinition.
    pub fn remove_definition(&mut self, definition: &str) {
        self.by_resource.retain(|_, of_group| {
            of_group.retain(|_, versions| {
                versions.retain(|kind| kind.definition != definition);
                !versions.is_empty()
            });
            !of_group.is_empty()
        });
    }
}

/// The sort key of the versions of CustomResourceDefinitions, the preferred version first: stable before beta before
/// alpha, each of them newest first, then names that are not versions, in alphabetical order
/// (`k8s.io/apimachinery/pkg/version/helpers.go`).
#[must_use]
pub fn version_order(version: &str) -> (Reverse<[u64; 3]>, &str) {
    let read = || {
        let rest = version.strip_prefix('v')?;
        let digits = |text: &str| -> Option<(u64, usize)> {
            let end = text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len());
            Some((text[..end].parse().ok()?, end))
        };
        let (major, end) = digits(rest)?;
        let rest = &rest[end..];
        if rest.is_empty() {
            return Some([3, major, 0]);
        }
        let (stage, rest) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
            (Some(rest), _) => (1, rest),
            (_, Some(rest)) => (2, rest),
            _ => return None,
        };
        let (minor, end) = digits(rest)?;
        (end == rest.len()).then_some([stage, major, minor])
    };
    (Reverse(read().unwrap_or_default()), version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_as_kubernetes_says() {
        // The example from the documentation of CustomResourceDefinition versions.
        let sorted = "v10 v2 v1 v11beta2 v10beta3 v3beta1 v12alpha1 v11alpha2 foo1 foo10";
        let mut versions: Vec<&str> = sorted.split(' ').collect();
        versions.reverse();
        versions.sort_by_key(|version| version_order(version));
        assert_eq!(versions.join(" "), sorted);
    }

    #[test]
    fn table_of_kinds_is_complete() {
        let kinds = Kinds::new();
        let pods = kinds.get("", "pods").unwrap();
        assert_eq!((pods.api_version().as_str(), pods.singular.as_str()), ("v1", "pod"));
        assert!(pods.subresource("eviction").is_some_and(|eviction| eviction.kind == "Eviction"));
        assert_eq!(kinds.by_kind("apps", "Deployment").unwrap().plural, "deployments");
        assert!(kinds.by_kind("apps", "Pod").is_none());
        assert!(kinds.served("batch", "v1", "jobs").is_some());
        assert!(
            !kinds.get("authorization.k8s.io", "selfsubjectaccessreviews").unwrap().is_stored()
        );
        assert_eq!(kinds.get("", "events").unwrap().dependents, Dependents::Unsupported);
    }
}
