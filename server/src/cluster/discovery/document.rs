//! The documents of discovery, as far as they are read.

use std::collections::BTreeSet;

use serde::Deserialize;

/// A discovery document of any form; `kind` distinguishes them.
#[derive(Deserialize)]
#[serde(tag = "kind")]
pub(super) enum Document {
    #[serde(rename = "APIGroupDiscoveryList")]
    Groups(GroupDiscoveryList),
    #[serde(rename = "APIVersions")]
    Core(CoreVersions),
    #[serde(rename = "APIGroupList")]
    Plain(GroupList),
}

#[derive(Deserialize)]
pub(super) struct GroupDiscoveryList {
    #[serde(default)]
    pub(super) items: Vec<GroupDiscovery>,
}

#[derive(Deserialize)]
pub(super) struct GroupDiscovery {
    #[serde(default)]
    pub(super) metadata: GroupName,
    #[serde(default)]
    pub(super) versions: Vec<VersionDiscovery>,
}

/// The core group has no name.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct GroupName {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct VersionDiscovery {
    pub(super) version: String,
    #[serde(default)]
    pub(super) resources: Vec<ResourceDiscovery>,
    #[serde(default)]
    pub(super) freshness: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceDiscovery {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) response_kind: Option<ResponseKind>,
    #[serde(default)]
    pub(super) scope: Option<String>,
    #[serde(default)]
    pub(super) verbs: BTreeSet<String>,
}

#[derive(Deserialize)]
pub(super) struct ResponseKind {
    #[serde(default)]
    pub(super) kind: String,
}

#[derive(Deserialize)]
pub(super) struct CoreVersions {
    #[serde(default)]
    pub(super) versions: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct GroupList {
    #[serde(default)]
    pub(super) groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    pub(super) name: String,
    #[serde(default)]
    pub(super) versions: Vec<GroupVersion>,
    #[serde(default)]
    pub(super) preferred_version: Option<GroupVersion>,
}

#[derive(Clone, Deserialize, PartialEq)]
pub(super) struct GroupVersion {
    pub(super) version: String,
}

impl GroupList {
    /// All pairs of group and version, each group's preferred version first.
    pub(super) fn versions(self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for group in self.groups {
            let rest = group
                .versions
                .into_iter()
                .filter(|version| Some(version) != group.preferred_version.as_ref());
            for version in group.preferred_version.iter().cloned().chain(rest) {
                all.push((group.name.clone(), version.version));
            }
        }
        all
    }
}

#[derive(Deserialize)]
pub(super) struct ResourceList {
    #[serde(default)]
    pub(super) resources: Vec<Resource>,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    pub(super) name: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespaced: bool,
    #[serde(default)]
    pub(super) verbs: BTreeSet<String>,
}
