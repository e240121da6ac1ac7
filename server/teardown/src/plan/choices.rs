//! The choices of a person who makes a plan. They are part of the plan and of its hash, and each can be written as a name and
//! a value, so that an address holds them.
//!
//! ```text
//! include=*                              everything unclaimed goes as well
//! include=ConfigMap/shop/settings        this unclaimed object goes as well
//! without=Secret                         no Secret goes
//! without=Deployment.apps/shop/web       this object stays
//! namespace=shop                         only what is in this namespace goes
//! keep=data                              claims and volumes stay
//! delete=PersistentVolumeClaim/shop/a    this object goes although an annotation says that it stays
//! waive=Deployment.apps/ops/operator     this object goes although objects outside the unit use it
//! unproven=shop/widgets.example.com      the namespace goes although this kind may not be listed in it
//! unreported=virtual-1                   Pods of this node count as ended once they are gone from the API
//! unplanned=k3f9                         only objects go that this open run waits for and that its plan does not know
//! ```
//!
//! An object is `KIND.GROUP/NAMESPACE/NAME`, without a group in the core group, and with an empty namespace where its kind
//! has none.
//!
//! # Decisions
//! - `unreported` is for nodes that never report how their Pods end, such as those of a virtual kubelet. Of any other silent node
//!   a person answers during the run, Pod by Pod (`run/decide/ready.rs`).
//! - `unplanned` names the run and not the objects. They are found again when the plan is started, as the members of a unit are,
//!   so that one which no longer holds the run is a difference. Objects without any mark of a unit need no other way into a
//!   plan, and nobody can bring an object of another application into it by its name.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use super::{
    address::{address, dotted, is_name, kind, object},
    unlistable::Unlistable,
};
use crate::{
    index::Index,
    object::{Facts, Object, ObjectRef},
    run_id::RunId,
    unit::Unit,
};

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Choice {
    /// Everything unclaimed goes as well.
    IncludeAll,
    /// This unclaimed object goes as well.
    Include(ObjectRef),
    /// Objects of this kind stay.
    WithoutKind {
        /// The group; empty for the core group.
        group: Arc<str>,
        /// The kind.
        kind: Arc<str>,
    },
    /// This object stays.
    Without(ObjectRef),
    /// Only what is in this namespace goes, and in the others that are chosen.
    Namespace(Arc<str>),
    /// Claims and volumes stay.
    KeepData,
    /// This object goes although an annotation says that it stays.
    Delete(ObjectRef),
    /// This object goes although objects outside the unit use it.
    Waive(ObjectRef),
    /// The namespace goes although this kind may not be listed in it: whatever it has of the kind goes along, unseen.
    Unproven(Unlistable),
    /// Pods of this node count as ended once they are gone from the API: nothing reports the end of their containers.
    Unreported(Arc<str>),
    /// Only objects go that this open run waits for and that its plan does not know.
    Unplanned(RunId),
}

/// The text is not a choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No choice has this name.
    #[error("no choice is called {0:?}")]
    Name(String),
    /// The choice cannot have this value.
    #[error("{value:?} is no value of {name}")]
    Value {
        /// The name.
        name: &'static str,
        /// The value.
        value: String,
    },
}

impl Choice {
    /// The names of all choices.
    pub const NAMES: [&'static str; 9] = [
        "include",
        "without",
        "namespace",
        "keep",
        "delete",
        "waive",
        "unproven",
        "unreported",
        "unplanned",
    ];

    /// Reads a choice.
    ///
    /// # Errors
    /// [`ChoiceError`] if there is no such choice.
    pub fn read(name: &str, value: &str) -> Result<Self, ChoiceError> {
        let Some(name) = Self::NAMES.into_iter().find(|known| *known == name) else {
            return Err(ChoiceError::Name(name.to_owned()));
        };
        let choice = match name {
            "include" if value == "*" => Some(Self::IncludeAll),
            "include" => object(value).map(Self::Include),
            "without" if value.contains('/') => object(value).map(Self::Without),
            "without" => kind(value).map(|(group, kind)| Self::WithoutKind { group, kind }),
            "namespace" => is_name(value).then(|| Self::Namespace(value.into())),
            "keep" => (value == "data").then_some(Self::KeepData),
            "waive" => object(value).map(Self::Waive),
            "unproven" => Unlistable::read(value).map(Self::Unproven),
            "unreported" => is_name(value).then(|| Self::Unreported(value.into())),
            "unplanned" => is_name(value).then(|| Self::Unplanned(RunId::new(value))),
            _ => object(value).map(Self::Delete),
        };
        choice.ok_or_else(|| ChoiceError::Value { name, value: value.to_owned() })
    }

    /// The choice as name and value.
    pub fn pair(&self) -> (&'static str, String) {
        match self {
            Self::IncludeAll => ("include", "*".to_owned()),
            Self::Include(object) => ("include", address(object)),
            Self::WithoutKind { group, kind } => ("without", dotted(group, kind)),
            Self::Without(object) => ("without", address(object)),
            Self::Namespace(name) => ("namespace", name.to_string()),
            Self::KeepData => ("keep", "data".to_owned()),
            Self::Delete(object) => ("delete", address(object)),
            Self::Waive(object) => ("waive", address(object)),
            Self::Unproven(unlistable) => ("unproven", unlistable.to_string()),
            Self::Unreported(node) => ("unreported", node.to_string()),
            Self::Unplanned(run) => ("unplanned", run.to_string()),
        }
    }
}

/// In JSON a choice is an object with one field.
impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, value) = self.pair();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(name, &value)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> de::Visitor<'de> for Pair {
            type Value = Choice;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a choice: one name with its value")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Choice, A::Error> {
                let pair: Option<(Cow<'de, str>, Cow<'de, str>)> = map.next_entry()?;
                let (name, value) = pair.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                if map.next_key::<Cow<'de, str>>()?.is_some() {
                    return Err(de::Error::invalid_length(2, &self));
                }
                Choice::read(&name, &value).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_map(Pair)
    }
}

/// All choices of a plan, each once. Without any, everything declared part of the unit goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Choices(BTreeSet<Choice>);

impl FromIterator<Choice> for Choices {
    fn from_iter<I: IntoIterator<Item = Choice>>(choices: I) -> Self {
        // Put in one by one: `collect` would add the code that sorts them to the browser's half.
        let mut all = BTreeSet::new();
        all.extend(choices);
        Self(all)
    }
}

impl Choices {
    /// The choices among the names and values of a query. Other names are about other things, and an empty value is a field
    /// of a form that was left empty.
    ///
    /// # Errors
    /// [`ChoiceError`] for the first value that is none.
    pub fn of_query<'a>(
        query: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ChoiceError> {
        let pairs = query.into_iter();
        let chosen =
            pairs.filter(|(name, value)| Choice::NAMES.contains(name) && !value.is_empty());
        chosen.map(|(name, value)| Choice::read(name, value)).collect()
    }

    /// Each choice.
    pub fn iter(&self) -> impl Iterator<Item = &Choice> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this choice is among them.
    pub fn has(&self, choice: &Choice) -> bool {
        self.0.contains(choice)
    }

    /// Whether an unclaimed object goes.
    pub fn includes(&self, object: &ObjectRef) -> bool {
        self.has(&Choice::IncludeAll) || self.has(&Choice::Include(object.clone()))
    }

    /// Whether an object stays, because it or its kind was left out.
    pub fn leaves_out(&self, object: &ObjectRef) -> bool {
        let (group, kind) = (object.group.clone(), object.kind.clone());
        self.has(&Choice::Without(object.clone())) || self.has(&Choice::WithoutKind { group, kind })
    }

    /// Whether what is in a namespace may go.
    pub fn covers(&self, namespace: &str) -> bool {
        self.covers_everything() || self.has(&Choice::Namespace(namespace.into()))
    }

    /// Whether no namespaces were chosen.
    pub fn covers_everything(&self) -> bool {
        !self.0.iter().any(|choice| matches!(choice, Choice::Namespace(_)))
    }

    /// Whether claims and volumes stay.
    pub fn keeps_data(&self) -> bool {
        self.has(&Choice::KeepData)
    }

    /// Whether an object goes although an annotation says that it stays.
    pub fn overrides(&self, object: &ObjectRef) -> bool {
        self.has(&Choice::Delete(object.clone()))
    }

    /// The open run whose unplanned objects alone go. Of several the first; [`Choices::check`] refuses the others.
    pub fn unplanned(&self) -> Option<&RunId> {
        self.0.iter().find_map(|choice| match choice {
            Choice::Unplanned(run) => Some(run),
            _ => None,
        })
    }

    /// Checks that each choice is about something: a name that was mistyped must not be deleted for it.
    ///
    /// # Errors
    /// The first choice that names nothing.
    pub fn check(&self, unit: &Unit, index: &Index) -> Result<(), Choice> {
        let members = || unit.members.iter().filter_map(|uid| index.get(uid));
        let is_member = |object: &ObjectRef| {
            index.named(object).is_some_and(|object| unit.members.contains(&object.uid))
        };
        let has_namespace = |name: &str| {
            members().any(|it| matches!(it.facts, Facts::Namespace(_)) && *it.name == *name)
        };
        let runs_on = |pod: &Object, name: &Arc<str>| matches!(&pod.facts, Facts::Pod(pod) if pod.node.as_ref() == Some(name));
        let is_met = |choice: &Choice| match choice {
            Choice::IncludeAll | Choice::KeepData => true,
            Choice::Include(object)
            | Choice::Without(object)
            | Choice::Delete(object)
            | Choice::Waive(object) => is_member(object),
            Choice::WithoutKind { group, kind } => members().any(|it| it.kind.is(group, kind)),
            Choice::Namespace(name) => members().any(|it| it.namespace.as_ref() == Some(name)),
            Choice::Unproven(it) => has_namespace(&it.namespace) && it.is_met(index),
            Choice::Unreported(node) => members().any(|it| runs_on(it, node)),
            Choice::Unplanned(run) => self.unplanned() == Some(run),
        };
        self.0.iter().find(|choice| !is_met(choice)).map_or(Ok(()), |choice| Err(choice.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_reads_as_it_is_written() {
        for (name, value) in [
            ("include", "*"),
            ("include", "ConfigMap/shop/settings"),
            ("without", "Deployment.apps"),
            ("without", "ClusterRole.rbac.authorization.k8s.io//system:view"),
            ("namespace", "shop"),
            ("keep", "data"),
            ("delete", "PersistentVolumeClaim/shop/data-0"),
            ("waive", "Deployment.apps/ops/operator"),
            ("unproven", "shop/widgets.example.com"),
            ("unreported", "virtual-1"),
            ("unplanned", "k3f9"),
        ] {
            let choice = Choice::read(name, value).unwrap();
            assert_eq!(choice.pair(), (name, value.to_owned()));
            let json = serde_json::to_string(&choice).unwrap();
            assert_eq!(json, format!("{{\"{name}\":\"{value}\"}}"));
            assert_eq!(serde_json::from_str::<Choice>(&json).unwrap(), choice);
        }
    }

    #[test]
    fn query_holds_choices_among_other_things() {
        let query = [("sel", "x"), ("without", ""), ("keep", "data"), ("keep", "data")];
        let choices = Choices::of_query(query).unwrap();
        assert_eq!(choices, Choices::from_iter([Choice::KeepData]));
        assert!(!choices.is_empty());
        assert!(Choices::of_query([("sel", "x"), ("without", "")]).unwrap().is_empty());
        assert!(Choices::of_query([("keep", "all")]).is_err());
    }

    #[test]
    fn text_that_is_no_choice_says_so() {
        let problem = |name, value| Choice::read(name, value).unwrap_err().to_string();
        insta::assert_snapshot!(problem("drop", "all"), @r#"no choice is called "drop""#);
        insta::assert_snapshot!(problem("keep", "all"), @r#""all" is no value of keep"#);
        for value in
            ["", "ConfigMap/shop", "ConfigMap/shop/a/b", "configmap/shop/a", "ConfigMap/shop/ a"]
        {
            assert!(Choice::read("include", value).is_err(), "{value:?}");
        }
        for value in ["", "secret", "A b"] {
            assert!(Choice::read("without", value).is_err(), "{value:?}");
        }
        for value in ["", "shop", "shop/", "/widgets", "shop/pods", "shop/a/b"] {
            assert!(Choice::read("unproven", value).is_err(), "{value:?}");
        }
        for json in ["{}", r#"{"keep":"data","include":"*"}"#, r#""keep""#, r#"{"keep":1}"#] {
            assert!(serde_json::from_str::<Choice>(json).is_err(), "{json}");
        }
        let problem = serde_json::from_str::<Choice>("1").unwrap_err().to_string();
        assert!(problem.contains("expected a choice: one name with its value"), "{problem}");
    }
}
