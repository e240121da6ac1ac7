//! APIServices: those of the built-in groups, which the server maintains itself, and those of other servers, with their
//! availability (`kube-aggregator/pkg/controllers/status`).

use serde_json::{Value, json};

use super::{Actor, Cluster};
use crate::{fault::ServerFault, kind::Kind, object, store::Key};

const GROUP: &str = "apiregistration.k8s.io";
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

impl Cluster {
    /// Creates an APIService for each served group version that has none, and removes those of deleted definitions.
    pub(super) fn register_api_services(&mut self) {
        let mut wanted: Vec<(String, String, bool)> = self
            .kinds
            .iter_versions()
            .filter(|kind| kind.api_service.is_empty())
            .map(|kind| (kind.group.clone(), kind.version.clone(), kind.is_custom()))
            .collect();
        wanted.sort();
        wanted.dedup_by(|a, b| (&a.0, &a.1) == (&b.0, &b.1));
        let server = Actor::admin();
        let name_of = |group: &str, version: &str| format!("{version}.{group}");
        for (group, version, custom) in &wanted {
            let name = name_of(group, version);
            if self.get(&Key::new(GROUP, "apiservices", "", &name)).is_some() {
                continue;
            }
            let (minimum, priority) = if *custom { (1000, 100) } else { (17000, 15) };
            let made = self.create(&server, GROUP, "apiservices", "", json!({
                "metadata": {"name": name, "labels": {AUTOMANAGED: if *custom { "true" } else { "onstart" }}},
                "spec": {
                    "group": group, "version": version,
                    "groupPriorityMinimum": minimum, "versionPriority": priority,
                },
            }));
            debug_assert!(made.is_ok(), "{made:?}");
        }
        let gone: Vec<String> = self
            .list(GROUP, "apiservices", None)
            .filter(|one| object::label(one, AUTOMANAGED) == "true")
            .map(|one| object::name(one).to_owned())
            .filter(|name| {
                !wanted.iter().any(|(group, version, _)| *name == name_of(group, version))
            })
            .collect();
        for name in gone {
            self.erase(&Key::new(GROUP, "apiservices", "", &name));
        }
    }

    /// Serves kinds behind an APIService, as an aggregated server would. They answer 503 while it is unavailable, and
    /// are not served while it does not exist.
    pub fn serve_aggregated(&mut self, api_service: &str, kinds: Vec<Kind>) {
        for kind in kinds {
            self.kinds.insert(Kind { api_service: api_service.into(), ..kind });
        }
    }

    /// Whether the server of an APIService is available.
    #[must_use]
    pub fn is_available(&self, api_service: &str) -> bool {
        let one = self.get(&Key::new(GROUP, "apiservices", "", api_service));
        one.is_some_and(|one| {
            object::text(object::condition(one, "Available"), &["status"]) == "True"
        })
    }

    /// Breaks the server behind an APIService; `None` repairs it.
    pub fn set_server_fault(&mut self, api_service: String, fault: Option<ServerFault>) {
        match fault {
            Some(fault) => _ = self.server_faults.insert(api_service, fault),
            None => _ = self.server_faults.remove(&api_service),
        }
        self.judge_api_services();
    }

    /// Repairs the servers behind all APIServices.
    pub(crate) fn repair_servers(&mut self) {
        if !std::mem::take(&mut self.server_faults).is_empty() {
            self.judge_api_services();
        }
    }

    /// Whether the server behind an APIService has this fault.
    pub(super) fn has_server_fault(&self, api_service: &str, fault: ServerFault) -> bool {
        self.server_faults.get(api_service) == Some(&fault)
    }

    /// Updates the `Available` condition of every APIService.
    pub(super) fn judge_api_services(&mut self) {
        let keys: Vec<Key> = self
            .list(GROUP, "apiservices", None)
            .map(|one| Key::new(GROUP, "apiservices", "", object::name(one)))
            .collect();
        for key in keys {
            self.judge_api_service(&key);
        }
    }

    pub(super) fn judge_api_service(&mut self, key: &Key) {
        let Some(one) = self.get(key) else { return };
        let (status, reason, message) = self.judgement(one);
        let now = self.now();
        // The APIService may have been removed, or may not have changed, which is not an error.
        let _ = self.modify(&Actor::admin(), key, "status", |one| {
            object::set_condition(one, "Available", status, &reason, &message, now);
        });
    }

    fn judgement(&self, one: &Value) -> (&'static str, String, String) {
        let service = &one["spec"]["service"];
        if service.is_null() {
            return ("True", "Local".into(), "Local APIServices are always available".into());
        }
        let (namespace, name) =
            (object::text(service, &["namespace"]), object::text(service, &["name"]));
        let port = service["port"].as_i64().unwrap_or(443);
        let no = |reason: &str, message: String| ("False", reason.to_owned(), message);
        let Some(found) = self.get(&Key::new("", "services", namespace, name)) else {
            return no(
                "ServiceNotFound",
                format!("service/{name} in {namespace:?} is not present"),
            );
        };
        let has_address = ["", "ClusterIP"].contains(&object::text(found, &["spec", "type"]));
        if !has_address {
            return ("True", "Passed".into(), "all checks passed".into());
        }
        let mut ports = found["spec"]["ports"].as_array().into_iter().flatten();
        let Some(asked) = ports.find(|one| one["port"] == port) else {
            return no(
                "ServicePortError",
                format!("service/{name} in {namespace:?} is not listening on port {port}"),
            );
        };
        let port_name = object::text(asked, &["name"]);
        let slices = self.list("discovery.k8s.io", "endpointslices", Some(namespace));
        let mut of_service =
            slices.filter(|slice| object::label(slice, "kubernetes.io/service-name") == name);
        if of_service.next().is_none() {
            return no(
                "EndpointsNotFound",
                format!("cannot find endpointslices for service/{name} in {namespace:?}"),
            );
        }
        if self.no_way_to(namespace, name, port).is_some() {
            return no(
                "MissingEndpoints",
                format!(
                    "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
                ),
            );
        }
        let address = object::text(found, &["spec", "clusterIP"]);
        let failed = |why: &str| {
            let (group, version) =
                (object::text(one, &["spec", "group"]), object::text(one, &["spec", "version"]));
            let url = format!("https://{address}:{port}/apis/{group}/{version}");
            no(
                "FailedDiscoveryCheck",
                format!("failing or missing response from {url}: Get {url:?}: {why}"),
            )
        };
        if self.has_server_fault(object::name(one), ServerFault::Dead) {
            return failed(&format!("dial tcp {address}:{port}: connect: connection refused"));
        }
        match self.no_answer_from(namespace, name, port) {
            Some(why) => failed(&why),
            None => ("True", "Passed".into(), "all checks passed".into()),
        }
    }
}
