//! Discovery: finds the served kinds, and the group versions whose kinds are unknown.
//!
//! Aggregated discovery takes two requests and names the stale group versions. If the API server does not offer it
//! (before 1.26, or behind some proxies), the same `Accept` header falls back to plain discovery with one request per
//! group version.

mod document;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    object::Kind,
};

use self::document::{Document, GroupDiscoveryList, ResourceList};
use super::{
    request::{self, Answer, ApiClient, Failure, segment},
    text::bounded,
};

/// The deadline of each document. The API server answers from memory; a dead aggregated server delays it by 5 s.
const DOCUMENT: Duration = Duration::from_secs(10);

/// The `Accept` header: `apidiscovery.k8s.io`, its beta for 1.26 to 1.29, and plain discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// The served versions of a kind that can be watched, each in the API server's order, the preferred one first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Versions {
    /// Those with the verb `delete`.
    deletable: Vec<Kind>,
    others: Vec<Kind>,
}

impl Versions {
    /// The version to watch. A DELETE goes to the version that is watched, so it is one that lets delete, if there is one.
    pub(super) fn preferred(&self) -> Option<&Kind> {
        self.deletable.first().or_else(|| self.others.first())
    }

    /// Whether a version that is watched stays so, because a change needs a new list. It need not be the preferred one, but it lets
    /// delete if any version does: an aggregated server may serve a version without the verb first, and another one later.
    pub(super) fn keep(&self, watched: &Kind) -> bool {
        let kept = if self.can_be_deleted() { &self.deletable } else { &self.others };
        kept.contains(watched)
    }

    fn can_be_deleted(&self) -> bool {
        !self.deletable.is_empty()
    }
}

/// The result of discovery.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The kinds to watch by group and plural.
    pub(super) kinds: BTreeMap<(String, String), Versions>,
    /// Group versions that gave no answer, such as `metrics.k8s.io/v1beta1`, and the reason. Their kinds are unknown, so
    /// a kind that is missing because of them is not withdrawn.
    pub(super) hidden: BTreeMap<String, ApiProblem>,
    /// The namespaced kinds by group and plural that can be listed and deleted, and not watched.
    unwatched: BTreeMap<(String, String), Kind>,
}

impl Found {
    /// A version of this group that is hidden, with the reason: a kind of the group may be missing only because of it.
    pub(super) fn hidden_version(&self, group: &str) -> Option<(&String, &ApiProblem)> {
        let is_of_group =
            |version: &str| version.rsplit_once('/').map_or("", |(group, _)| group) == group;
        self.hidden.iter().find(|(version, _)| is_of_group(version))
    }

    /// Whether the version of this kind is hidden.
    pub(super) fn is_hidden(&self, kind: &Kind) -> bool {
        self.hidden.contains_key(&format!("{}/{}", kind.group, kind.version))
    }

    /// The resources, such as `widgets.example.com`, that no version lets delete, as far as that can be known: a hidden version may.
    pub(super) fn undeletable(&self) -> BTreeSet<String> {
        let undeletable = self.kinds.values().filter(|versions| !versions.can_be_deleted());
        let known = |kind: &&Kind| self.hidden_version(&kind.group).is_none();
        undeletable.filter_map(Versions::preferred).filter(known).map(Kind::resource).collect()
    }

    /// The kinds whose objects a namespace may hold, each in the version that the API server prefers. The namespace controller
    /// leaves out those that cannot be deleted (`deleteAllContent` in
    /// `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
    pub(super) fn in_namespaces(self) -> Vec<Arc<Kind>> {
        let Self { kinds, unwatched, .. } = self;
        let unwatched = unwatched.into_iter().filter(|(key, _)| !kinds.contains_key(key));
        let unwatched: Vec<Kind> = unwatched.map(|(_, kind)| kind).collect();
        let watched = kinds.into_values().filter_map(|it| it.deletable.into_iter().next());
        watched.filter(|kind| kind.namespaced).chain(unwatched).map(Arc::new).collect()
    }

    /// The kind of this name, `widgets.example.com`, in the version that the API server prefers.
    pub(super) fn kind(&self, resource: &str) -> Option<&Kind> {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let key = (group.to_owned(), plural.to_owned());
        let watched = self.kinds.get(&key).and_then(Versions::preferred);
        watched.or_else(|| self.unwatched.get(&key))
    }

    fn add(&mut self, kind: Kind, can_be_deleted: bool) {
        let key = (kind.group.to_string(), kind.plural.to_string());
        let Versions { deletable, others } = self.kinds.entry(key).or_default();
        (if can_be_deleted { deletable } else { others }).push(kind);
    }
}

/// The reason why discovery as a whole failed.
#[derive(Debug)]
pub(super) enum DiscoveryError {
    /// The API server did not answer.
    Failure(Failure),
    /// The answer was not a discovery document.
    Refused {
        /// The problem with the answer.
        message: ApiProblem,
    },
}

impl From<Failure> for DiscoveryError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<&DiscoveryError> for ApiProblem {
    fn from(error: &DiscoveryError) -> Self {
        match error {
            DiscoveryError::Failure(failure) => failure.into(),
            DiscoveryError::Refused { message, .. } => message.clone(),
        }
    }
}

/// Finds the served kinds.
pub(super) async fn discover(client: &ApiClient) -> Result<Found, DiscoveryError> {
    let mut found = Found::default();
    for root in ["/api", "/apis"] {
        let answer = document(client, root, AGGREGATED).await?;
        match serde_json::from_slice::<Document>(&answer.body) {
            Ok(Document::Groups(groups)) => aggregated(groups, &mut found),
            Ok(Document::Core(core)) => {
                let versions =
                    core.versions.into_iter().map(|version| (String::new(), version)).collect();
                plain(client, versions, &mut found).await?;
            }
            Ok(Document::Plain(groups)) => plain(client, groups.versions(), &mut found).await?,
            Err(error) => {
                let (path, why) = (root.to_owned(), bounded(&error.to_string()));
                let message = ProblemCode::NotDiscovery { path, why }.into();
                return Err(DiscoveryError::Refused { message });
            }
        }
    }
    Ok(found)
}

async fn document(client: &ApiClient, path: &str, accept: &str) -> Result<Answer, DiscoveryError> {
    let answer = request::ask(client, request::get(path, accept), DOCUMENT).await?;
    if answer.is_success() {
        Ok(answer)
    } else {
        Err(DiscoveryError::Refused { message: answer.message() })
    }
}

/// Reads an aggregated document. A stale version may list nothing, or the kinds it served before, so it is hidden.
fn aggregated(groups: GroupDiscoveryList, found: &mut Found) {
    for group in groups.items {
        let name = group.metadata.name;
        for version in group.versions {
            if version.freshness.as_deref() == Some("Stale") {
                hide(found, &name, &version.version, ProblemCode::Stale.into());
                continue;
            }
            for resource in version.resources {
                // An aggregated server may serve kinds of another group under its path. Requests go by the path, so the
                // path's group counts.
                let Some(kind) = resource.response_kind else { continue };
                let verbs = &resource.verbs;
                let namespaced = resource.scope.as_deref() == Some("Namespaced");
                offer(
                    found,
                    &name,
                    &version.version,
                    &resource.resource,
                    &kind.kind,
                    namespaced,
                    verbs,
                );
            }
        }
    }
}

/// Asks each group version for its resources. A version that fails is hidden and the others continue; a connection that
/// breaks ends discovery.
async fn plain(
    client: &ApiClient,
    versions: Vec<(String, String)>,
    found: &mut Found,
) -> Result<(), DiscoveryError> {
    for (group, version) in versions {
        let path = match (segment(&group), segment(&version)) {
            (None, Some(version)) => format!("/api/{version}"),
            (Some(group), Some(version)) => format!("/apis/{group}/{version}"),
            (_, None) => continue,
        };
        let answer = match document(client, &path, request::JSON).await {
            Ok(answer) => answer,
            Err(DiscoveryError::Refused { message, .. }) => {
                hide(found, &group, &version, message);
                continue;
            }
            Err(error @ DiscoveryError::Failure(_)) => return Err(error),
        };
        let list = match serde_json::from_slice::<ResourceList>(&answer.body) {
            Ok(list) => list,
            Err(error) => {
                let why = bounded(&error.to_string());
                hide(found, &group, &version, ProblemCode::NotDiscovery { path, why }.into());
                continue;
            }
        };
        for resource in list.resources {
            // A name with a slash, such as `pods/log`, is a subresource.
            if !resource.name.contains('/') {
                let verbs = &resource.verbs;
                offer(
                    found,
                    &group,
                    &version,
                    &resource.name,
                    &resource.kind,
                    resource.namespaced,
                    verbs,
                );
            }
        }
    }
    Ok(())
}

fn hide(found: &mut Found, group: &str, version: &str, message: ApiProblem) {
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    found.hidden.insert(bounded(&name), message);
}

fn offer(
    found: &mut Found,
    group: &str,
    version: &str,
    plural: &str,
    kind: &str,
    namespaced: bool,
    verbs: &BTreeSet<String>,
) {
    let has = |verb| verbs.contains(verb);
    let is_watchable = has("list") && has("watch");
    let is_unwatched = !is_watchable && namespaced && has("list") && has("delete");
    if !is_watchable && !is_unwatched || kind.is_empty() || is_noise(group, plural) {
        return;
    }
    // These names become part of paths and of log lines, and an aggregated server can send any text.
    if [group, version, plural, kind].into_iter().all(is_plain) {
        let kind = Kind {
            group: group.into(),
            kind: kind.into(),
            version: version.into(),
            plural: plural.into(),
            namespaced,
        };
        if is_watchable {
            found.add(kind, has("delete"));
        } else {
            found.unwatched.entry((group.to_owned(), plural.to_owned())).or_insert(kind);
        }
    } else {
        let name = bounded(plural);
        hide(found, group, version, ProblemCode::InvalidName { name }.into());
    }
}

/// Whether the name has only letters, digits, `-` and `.`; the core group's name is empty.
fn is_plain(name: &str) -> bool {
    name.len() <= 253 && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-.".contains(&it))
}

/// Whether no teardown ever depends on the kind.
fn is_noise(group: &str, plural: &str) -> bool {
    match (group, plural) {
        // Events are the busiest kinds of a cluster, and the API server removes them within the hour.
        ("" | "events.k8s.io", "events") => true,
        // Leases are heartbeats: every Node and every elected leader writes one every few seconds.
        ("coordination.k8s.io", "leases" | "leasecandidates") => true,
        // The endpoint controllers create endpoints from Services and Pods, and remove them. They change with every
        // readiness probe and block nothing.
        ("", "endpoints") | ("discovery.k8s.io", "endpointslices") => true,
        // The API server creates and removes an IPAddress with its Service.
        ("networking.k8s.io", "ipaddresses") => true,
        // Storage drivers report their free space here again and again.
        ("storage.k8s.io", "csistoragecapacities") => true,
        // StorageVersions concern only the control plane: they say which API server can read which version.
        ("internal.apiserver.k8s.io", "storageversions") => true,
        // Measurements, not objects.
        ("metrics.k8s.io" | "custom.metrics.k8s.io" | "external.metrics.k8s.io", _) => true,
        // These are projections of other objects with the same UIDs. Each would look like the end of the other.
        (
            "project.openshift.io" | "authorization.openshift.io" | "packages.operators.coreos.com",
            _,
        ) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::{self, Reply, now};

    /// The result as lines.
    fn lines(found: &Found) -> Vec<String> {
        let kinds = found.kinds.values().map(|versions| {
            let Versions { deletable, others } = versions;
            let served: Vec<_> = deletable.iter().chain(others).map(|it| &*it.version).collect();
            let kind = versions.preferred().unwrap();
            let scope = if kind.namespaced { "in namespaces" } else { "in the cluster" };
            format!("{} {} {} {scope}", kind.kind, kind.resource(), served.join(" "))
        });
        kinds.chain(found.hidden.keys().map(|version| format!("hidden {version}"))).collect()
    }

    const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
        {"metadata":{"creationTimestamp":null},"versions":[{"version":"v1","freshness":"Current","resources":[
            {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","verbs":["delete","list","watch"],
             "subresources":[{"subresource":"log","verbs":["get"]}]},
            {"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","verbs":["list","watch"]},
            {"resource":"endpoints","responseKind":{"kind":"Endpoints"},"scope":"Namespaced","verbs":["delete","list","watch"]},
            {"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced","verbs":["create"]},
            {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["list","watch"]}]}]}]}"#;

    const GROUPS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[
        {"metadata":{"name":"autoscaling"},"versions":[
            {"version":"v2","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["list","watch"]}]},
            {"version":"v1","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["list","watch"]}]}]},
        {"metadata":{"name":"discovery.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"endpointslices","responseKind":{"kind":"EndpointSlice"},"scope":"Namespaced","verbs":["delete","list","watch"]}]}]},
        {"metadata":{"name":"coordination.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"leases","responseKind":{"kind":"Lease"},"scope":"Namespaced","verbs":["list","watch"]}]}]},
        {"metadata":{"name":"wares.example.com"},"versions":[
            {"version":"v1","freshness":"Stale","resources":[{"resource":"wares","responseKind":{"kind":"Ware"},"scope":"Namespaced","verbs":["list","watch"]}]},
            {"version":"v1beta1","freshness":"Stale"}]}]}"#;

    const NOTHING: &str = r#"{"kind":"APIGroupDiscoveryList","items":[]}"#;

    #[tokio::test]
    async fn aggregated_discovery_takes_two_requests() {
        let (client, log) =
            fake::client(|seen| now(200, if seen.path == "/api" { CORE } else { GROUPS }));
        let found = discover(&client).await.unwrap();
        assert_eq!(
            lines(&found),
            [
                "Node nodes v1 in the cluster",
                "Pod pods v1 in namespaces",
                "HorizontalPodAutoscaler horizontalpodautoscalers.autoscaling v2 v1 in namespaces",
                "hidden wares.example.com/v1",
                "hidden wares.example.com/v1beta1",
            ]
        );
        assert!(
            found.hidden_version("wares.example.com").is_some()
                && found.hidden_version("").is_none()
                && found.hidden_version("example.com").is_none()
        );
        assert_eq!(log.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn kind_that_no_version_lets_delete_is_found() {
        const VERBS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[
            {"version":"v2","freshness":"Current","resources":[
                {"resource":"as","responseKind":{"kind":"A"},"scope":"Cluster","verbs":["delete","list","watch"]},
                {"resource":"bs","responseKind":{"kind":"B"},"scope":"Cluster","verbs":["list","watch"]},
                {"resource":"cs","responseKind":{"kind":"C"},"scope":"Cluster","verbs":["deletecollection","list","watch"]}]},
            {"version":"v1","freshness":"Current","resources":[
                {"resource":"as","responseKind":{"kind":"A"},"scope":"Cluster","verbs":["list","watch"]},
                {"resource":"bs","responseKind":{"kind":"B"},"scope":"Cluster","verbs":["delete","list","watch"]},
                {"resource":"cs","responseKind":{"kind":"C"},"scope":"Cluster","verbs":["list","watch"]}]}]}]}"#;
        let (client, _) =
            fake::client(|seen| now(200, if seen.path == "/api" { NOTHING } else { VERBS }));
        let found = discover(&client).await.unwrap();
        assert_eq!(found.undeletable(), BTreeSet::from(["cs.example.com".to_owned()]));
        assert_eq!(
            lines(&found),
            [
                "A as.example.com v2 v1 in the cluster",
                "B bs.example.com v1 v2 in the cluster",
                "C cs.example.com v2 v1 in the cluster",
            ],
            "the version that lets delete is watched"
        );
    }

    #[tokio::test]
    async fn namespace_holds_no_kind_that_cannot_be_deleted() {
        const KINDS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[
            {"version":"v1","freshness":"Current","resources":[
                {"resource":"as","responseKind":{"kind":"A"},"scope":"Namespaced","verbs":["delete","list","watch"]},
                {"resource":"bs","responseKind":{"kind":"B"},"scope":"Namespaced","verbs":["delete","list"]},
                {"resource":"cs","responseKind":{"kind":"C"},"scope":"Namespaced","verbs":["list","watch"]}]}]}]}"#;
        let (client, _) =
            fake::client(|seen| now(200, if seen.path == "/api" { NOTHING } else { KINDS }));
        let found = discover(&client).await.unwrap();
        let held: Vec<String> = found.in_namespaces().iter().map(|it| it.resource()).collect();
        assert_eq!(held, ["as.example.com", "bs.example.com"]);
    }

    /// Names become part of paths and of log lines.
    #[tokio::test]
    async fn kind_with_an_invalid_name_is_not_watched() {
        const FORGED: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[
            {"version":"v1","freshness":"Current","resources":[
                {"resource":"x\nERROR forged","responseKind":{"kind":"X"},"scope":"Cluster","verbs":["list","watch"]},
                {"resource":"y","responseKind":{"kind":"\u202eY"},"scope":"Cluster","verbs":["list","watch"]},
                {"resource":"zs","responseKind":{"kind":"Z"},"scope":"Cluster","verbs":["list","watch"]}]}]}]}"#;
        let (client, _) =
            fake::client(|seen| now(200, if seen.path == "/api" { CORE } else { FORGED }));
        let found = discover(&client).await.unwrap();
        assert_eq!(
            lines(&found)[2..],
            ["Z zs.example.com v1 in the cluster", "hidden example.com/v1"]
        );
    }

    #[tokio::test]
    async fn plain_discovery_reads_each_group_version() {
        let (client, _) = fake::client(|seen| match &*seen.path {
            "/api" => now(200, r#"{"kind":"APIVersions","versions":["v1"]}"#),
            "/api/v1" => now(
                200,
                r#"{"kind":"APIResourceList","resources":[
                    {"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]},
                    {"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}"#,
            ),
            "/apis" => now(
                200,
                r#"{"kind":"APIGroupList","groups":[
                    {"name":"example.com","versions":[{"version":"v1beta1"},{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                    {"name":"dead.example.com","versions":[{"version":"v1"}]}]}"#,
            ),
            "/apis/example.com/v1" => {
                now(200, r#"{"resources":[{"name":"as","kind":"A","verbs":["list","watch"]}]}"#)
            }
            "/apis/example.com/v1beta1" => now(
                200,
                r#"{"resources":[{"name":"as","kind":"A","verbs":["list","watch"]},{"name":"bs","kind":"B","verbs":["list","watch"]}]}"#,
            ),
            _ => now(503, "service unavailable"),
        });
        assert_eq!(
            lines(&discover(&client).await.unwrap()),
            [
                "Pod pods v1 in namespaces",
                "A as.example.com v1 v1beta1 in the cluster",
                "B bs.example.com v1beta1 in the cluster",
                "hidden dead.example.com/v1",
            ]
        );
    }

    #[tokio::test]
    async fn answer_without_a_document_is_an_error() {
        for reply in [
            || Reply::Broken,
            || Reply::Answer(403, "no".into()),
            || Reply::Answer(200, "<html>".into()),
        ] {
            let (client, _) = fake::client(move |_| Box::pin(std::future::ready(reply())));
            assert!(discover(&client).await.is_err());
        }
    }
}
