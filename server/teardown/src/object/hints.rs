//! The annotations by which tools order what they apply and delete: their text is read here, once, and only what it says is
//! stored. `relation/hint.rs` has what they mean.
//!
//! Anybody may write any text into an annotation. One that its tool would refuse says nothing, and of a long list only the first
//! [`MOST`] entries are read.

use std::{fmt, sync::Arc};

use super::{Facts, Object, ObjectRef};

/// The annotation of cli-utils, kpt and Config Sync
/// (<https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/object/dependson/strings.go>).
pub(crate) const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// The annotation of Argo CD (<https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/>).
pub(crate) const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// The annotations of kapp, each of which may have a suffix `.x` (<https://carvel.dev/kapp/docs/latest/apply-ordering/>).
const CHANGE_GROUP: &str = "kapp.k14s.io/change-group";
pub(crate) const CHANGE_RULE: &str = "kapp.k14s.io/change-rule";

/// The most entries that are stored of each kind. Real objects have a few.
const MOST: usize = 32;
/// The longest name of a change group: a DNS name, a slash and a name (`validation.IsQualifiedName`).
const LONGEST: usize = 253 + 1 + 63;

/// The order that the annotations of an object ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// The objects that it depends on.
    pub depends_on: Vec<ObjectRef>,
    /// The change groups of kapp that it is in, with their placeholders.
    pub groups: Vec<Arc<str>>,
    /// Its change rules of kapp.
    pub rules: Vec<ChangeRule>,
    /// Its sync wave of Argo CD. An object without one is in wave 0.
    pub wave: Option<i32>,
}

/// A change rule of kapp, such as `delete after deleting apps.big.co/db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangeRule {
    /// It is about deletions. Otherwise it is about what is created and updated.
    pub deletes: bool,
    /// The object is to be changed after the group. Otherwise before it.
    pub after: bool,
    /// The change group, with its placeholders.
    pub group: Arc<str>,
}

impl fmt::Display for ChangeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, others) =
            if self.deletes { ("delete", "deleting") } else { ("upsert", "upserting") };
        let order = if self.after { "after" } else { "before" };
        write!(f, "{verb} {order} {others} {}", self.group)
    }
}

impl ChangeRule {
    /// The rule in a text. A rule that mixes deletions with what is created orders nothing in a teardown.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next();
        let (verb, order, others, group) = (next()?, next()?, next()?, next()?);
        let deletes = match (verb, others) {
            ("delete", "deleting") => true,
            ("upsert", "upserting") => false,
            _ => return None,
        };
        let after = match order {
            "after" => true,
            "before" => false,
            _ => return None,
        };
        let is_over = next().is_none();
        (is_over && is_name(group)).then(|| Self { deletes, after, group: group.into() })
    }

    /// Whether the object is deleted before the group. Deletion is the reverse of what is created.
    pub(crate) fn goes_first(&self) -> bool {
        self.deletes != self.after
    }
}

impl Hints {
    /// Whether an annotation says something about the order.
    pub fn is_one(key: &str) -> bool {
        key == DEPENDS_ON || key == SYNC_WAVE || is_of(key, CHANGE_GROUP) || is_of(key, CHANGE_RULE)
    }

    /// Adds what an annotation says.
    pub fn read(&mut self, key: &str, value: &str) {
        if key == DEPENDS_ON {
            for named in value.split(',').take(MOST).filter_map(dependency) {
                if !self.depends_on.contains(&named) {
                    self.depends_on.push(named);
                }
            }
        } else if key == SYNC_WAVE {
            self.wave = value.parse().ok();
        } else if is_of(key, CHANGE_GROUP) && self.groups.len() < MOST && is_name(value) {
            self.groups.push(value.into());
        } else if is_of(key, CHANGE_RULE) && self.rules.len() < MOST {
            self.rules.extend(ChangeRule::read(value));
        }
    }
}

/// Whether a key is this annotation of kapp, with or without a suffix.
fn is_of(key: &str, annotation: &str) -> bool {
    key.strip_prefix(annotation).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a text may be a name, with or without placeholders.
fn is_name(text: &str) -> bool {
    let is_part_of_one = |c: char| c.is_ascii_alphanumeric() || "-_./{}".contains(c);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_part_of_one)
}

/// The object in an entry of the annotation depends-on: `GROUP/namespaces/NAMESPACE/KIND/NAME`, or `GROUP/KIND/NAME` for one without
/// a namespace. The core group is empty.
fn dependency(entry: &str) -> Option<ObjectRef> {
    let fields: Vec<&str> = entry.trim().split('/').take(6).collect();
    let (group, namespace, kind, name) = match *fields {
        [group, kind, name] => (group, None, kind, name),
        [group, "namespaces", namespace, kind, name] => (group, Some(namespace), kind, name),
        _ => return None,
    };
    // The names of roles may have a colon (`path.ValidatePathSegmentName`).
    let is_good = |part: &str| {
        !part.is_empty() && part.len() <= 253 && part.chars().all(|c| c.is_ascii_graphic())
    };
    let are_good = [Some(kind), Some(name), namespace].into_iter().flatten().all(is_good);
    (are_good && (group.is_empty() || is_good(group))).then(|| ObjectRef {
        group: group.into(),
        kind: kind.into(),
        namespace: namespace.map(Arc::from),
        name: name.into(),
    })
}

/// An object as the annotation depends-on writes it.
pub(crate) fn dependency_text(named: &ObjectRef) -> String {
    let ObjectRef { group, kind, namespace, name } = named;
    match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{kind}/{name}"),
        None => format!("{group}/{kind}/{name}"),
    }
}

impl Object {
    /// The order that its annotations ask for. Those of an object with an owner are ignored: it goes with its owner, and a
    /// ReplicaSet has copies of the annotations of its Deployment (`SetNewReplicaSetAnnotations` in
    /// `pkg/controller/deployment/util/deployment_util.go`).
    pub(crate) fn hints(&self) -> Option<&Hints> {
        let hints = self.annotations.as_deref()?.hints.as_deref();
        hints.filter(|_| self.owners.is_empty())
    }

    /// The name of a change group for this object, with the placeholders filled in; none if kapp would refuse it
    /// (`pkg/kapp/diffgraph/change_group_name.go`).
    pub(crate) fn change_group(&self, name: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = name;
        while let Some((before, behind)) = rest.split_once('{') {
            let (placeholder, behind) = behind.split_once('}')?;
            let value = self.placeholder(placeholder).filter(|value| !value.is_empty())?;
            filled.push_str(before);
            filled.push_str(value);
            rest = behind;
        }
        filled.push_str(rest);
        (filled.len() <= LONGEST).then_some(filled)
    }

    fn placeholder(&self, name: &str) -> Option<&str> {
        let definition = match &self.facts {
            Facts::Definition(definition) => Some(definition),
            _ => None,
        };
        match name {
            "api-group" => Some(&self.kind.group),
            "kind" => Some(&self.kind.kind),
            "name" => Some(&self.name),
            "namespace" => self.namespace.as_deref(),
            "crd-kind" => definition.map(|it| &*it.kind),
            "crd-group" => definition.map(|it| &*it.group),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn read(annotations: &[(&str, &str)]) -> Hints {
        let mut hints = Hints::default();
        for (key, value) in annotations {
            assert!(Hints::is_one(key), "{key}");
            hints.read(key, value);
        }
        hints
    }

    #[test]
    fn dependencies_are_read_as_cli_utils_writes_them() {
        let text = "apps/namespaces/shop/Deployment/db, /namespaces/shop/Secret/key,\
                    rbac.authorization.k8s.io/ClusterRole/system:reader";
        let named = read(&[(DEPENDS_ON, text)]).depends_on;
        let again: Vec<String> = named.iter().map(dependency_text).collect();
        assert_eq!(again, text.split(',').map(str::trim).collect::<Vec<_>>());
    }

    #[test]
    fn text_that_its_tool_would_refuse_says_nothing() {
        let long = "a".repeat(1 << 20);
        let long = long.as_str();
        for text in ["", ",", "a/b", "a/b/c/d", "a/names/b/c/d", "a/b/c/d/e/f", "a//b", "a/b c/d"] {
            assert_eq!(read(&[(DEPENDS_ON, text)]), Hints::default(), "{text}");
        }
        for text in [long, "apps/namespaces//Deployment/db", "///", "\u{202e}/\0/ü"] {
            assert_eq!(read(&[(DEPENDS_ON, text)]), Hints::default());
        }
        for text in ["", "one", "1.5", "99999999999", " 1", long] {
            assert_eq!(read(&[(SYNC_WAVE, text)]), Hints::default());
        }
        for text in [
            "",
            "delete after deleting",
            "delete after deleting a b",
            "delete  after deleting a",
            "delete after upserting a",
            "upsert before deleting a",
            "delete during deleting a",
            long,
        ] {
            assert_eq!(read(&[(CHANGE_RULE, text)]), Hints::default());
        }
        for text in ["", "a b", "\u{202e}", long] {
            assert_eq!(read(&[(CHANGE_GROUP, text)]), Hints::default());
        }
    }

    #[test]
    fn long_list_is_cut() {
        let many: Vec<String> = (0..1_000).map(|i| format!("/Namespace/n{i}")).collect();
        assert_eq!(read(&[(DEPENDS_ON, &many.join(","))]).depends_on.len(), MOST);
        let keys: Vec<String> = (0..1_000).map(|i| format!("{CHANGE_GROUP}.{i}")).collect();
        let groups: Vec<(&str, &str)> = keys.iter().map(|key| (&**key, "a")).collect();
        assert_eq!(read(&groups).groups.len(), MOST);
        let keys: Vec<String> = (0..1_000).map(|i| format!("{CHANGE_RULE}.{i}")).collect();
        let rule = "delete after deleting a";
        let rules: Vec<(&str, &str)> = keys.iter().map(|key| (&**key, rule)).collect();
        assert_eq!(read(&rules).rules.len(), MOST);
    }

    #[test]
    fn annotation_with_another_name_is_none_of_them() {
        for key in ["kapp.k14s.io/change-groups", "argocd.argoproj.io/sync-waves", "depends-on"] {
            assert!(!Hints::is_one(key), "{key}");
        }
    }

    #[test]
    fn placeholders_of_a_change_group_are_filled_in_by_the_object() {
        let filled = |line: &str, name: &str| fixture::object(line).change_group(name);
        let pvc = "deploy shop/web";
        let crd = "crd topics.example.com defines=Topic.example.com";
        for (line, name, expected) in [
            (pvc, "a/b", Some("a/b")),
            (pvc, "{api-group}/{kind}.{namespace}.{name}", Some("apps/Deployment.shop.web")),
            (crd, "crd-{crd-group}-{crd-kind}", Some("crd-example.com-Topic")),
            (pvc, "{crd-kind}", None),
            (crd, "{namespace}", None),
            (pvc, "{uid}", None),
            (pvc, "{name", None),
            (pvc, "{}", None),
            ("cm shop/a", "{api-group}", None),
        ] {
            assert_eq!(filled(line, name).as_deref(), expected, "{line}: {name}");
        }
    }
}
