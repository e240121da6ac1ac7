//! The order rules, over plain objects, at the moment of one DELETE. They follow from the behaviour of Kubernetes, and
//! do not use the planner.

mod extensions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use self::extensions::guarded_objects;
use self::extensions::{caller_of, definition, driver, finisher, guarded, webhook_backend};
use crate::{
    application::{BYSTANDER, UNIT},
    state::{State, kind, list, name, namespace, owners, text, title, uid, unit},
};

/// One DELETE, and the state of the cluster at its moment.
pub(crate) struct Case<'a> {
    /// The unit that its run tears down.
    pub(crate) unit: &'a str,
    pub(crate) state: &'a State,
    pub(crate) object: &'a Value,
    /// Whether the server must have observed an object that is newer than the plan.
    pub(crate) seen: &'a dyn Fn(&Value) -> bool,
    /// The UIDs of the Pods when the server last listed those of the namespace; none without a recent list.
    pub(crate) read: Option<&'a BTreeSet<String>>,
    /// Whether an object was created after the server had last listed its kind, in its namespace or everywhere, just before.
    pub(crate) came_after_list: &'a dyn Fn(&Value) -> bool,
    /// Whether a person confirmed that the object goes although this one uses it.
    pub(crate) is_waived: &'a dyn Fn(&Value) -> bool,
    /// Whether a person took it on that no Pod writes to the claim any more, or the server may have missed how a Pod went.
    pub(crate) is_taken_on: bool,
}

type Rule = fn(&Case<'_>) -> Option<String>;

const RULES: [Rule; 26] = [
    owner,
    claim,
    attached,
    ended_by_force,
    namespace_with_content,
    volume,
    retained,
    used_by_pods,
    secret_in_use,
    named,
    account_rights,
    role,
    selector,
    autoscaled,
    service_behind_ingress,
    ingress_class,
    definition,
    finisher,
    driver,
    guarded,
    webhook_backend,
    pods_behind_service,
    made_from_template,
    declared,
    bystander,
    protected,
];

/// Every rule that this DELETE violates.
pub(crate) fn violations(case: &Case<'_>) -> Vec<String> {
    RULES.iter().filter_map(|rule| rule(case)).collect()
}

/// Pods and workloads, with their Pod specification.
fn specs<'a>(state: &'a State, within: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    const WORKLOADS: [(&str, &str); 8] = [
        ("Pod", "/spec"),
        ("Deployment", "/spec/template/spec"),
        ("ReplicaSet", "/spec/template/spec"),
        ("StatefulSet", "/spec/template/spec"),
        ("DaemonSet", "/spec/template/spec"),
        ("Job", "/spec/template/spec"),
        ("ReplicationController", "/spec/template/spec"),
        ("CronJob", "/spec/jobTemplate/spec/template/spec"),
    ];
    WORKLOADS.into_iter().flat_map(move |(kind, path)| {
        state.within(kind, within).filter_map(move |it| Some((it, it.pointer(path)?)))
    })
}

/// Whether a claim without labels belongs to the unit because only Pods of the unit mount it.
pub(crate) fn is_mounted_by_unit_alone(state: &State, claim: &Value) -> bool {
    let mounts = |spec: &Value| {
        let mut volumes = list(spec, "/volumes").iter();
        volumes.any(|it| text(it, "/persistentVolumeClaim/claimName") == name(claim))
    };
    let users: Vec<&Value> = specs(state, namespace(claim))
        .filter(|(user, spec)| owners(user).next().is_none() && mounts(spec))
        .map(|(user, _)| user)
        .collect();
    unit(claim).is_empty() && !users.is_empty() && users.iter().all(|user| unit(user) == UNIT)
}

fn labels_match(selector: &Value, labels: &Value) -> bool {
    // The generated applications select by labels alone, so expressions are not supported here.
    let wanted = selector.as_object();
    wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

/// The Pods that match a selector of `matchLabels`.
fn selected<'a>(
    case: &'a Case<'_>,
    within: &'a str,
    selector: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    let pods = case.state.within("Pod", within).filter(|pod| is_relevant(case, pod));
    pods.filter(move |pod| labels_match(selector, &pod["metadata"]["labels"]))
}

/// Whether an object counts as a user: one that existed at the time of the plan, or a later one that the server must
/// have observed, because only storage is worth a fresh read. Of later objects that no planned object created, only
/// Pods that still run count. One that a person confirmed as a user of the object does not.
fn is_relevant(case: &Case<'_>, user: &Value) -> bool {
    let is_running_pod =
        || kind(user) == "Pod" && !matches!(text(user, "/status/phase"), "Succeeded" | "Failed");
    !(case.is_waived)(user)
        && (!case.state.is_newer_than_plan(user) || (case.seen)(user))
        && (case.state.is_known_to_plan(user) || is_running_pod())
}

/// An owner re-creates its dependents, or has them collected in another order.
fn owner(case: &Case<'_>) -> Option<String> {
    let owner = owners(case.object).find_map(|owner| {
        let owner = case.state.by_uid(text(owner, "/uid"))?;
        let is_one = namespace(owner).is_empty() || namespace(owner) == namespace(case.object);
        is_one.then_some(owner)
    })?;
    Some(format!("its owner {} is there", title(owner)))
}

/// Every Pod that mounts a claim uses it until its last write, whoever created the Pod.
fn claim(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "PersistentVolumeClaim" {
        return None;
    }
    let mounts = |owner: &Value, spec: &Value| {
        list(spec, "/volumes").iter().any(|volume| {
            let ephemeral = format!("{}-{}", name(owner), text(volume, "/name"));
            text(volume, "/persistentVolumeClaim/claimName") == name(case.object)
                || !volume["ephemeral"].is_null() && ephemeral == name(case.object)
        })
    };
    let user = specs(case.state, namespace(case.object)).find(|(owner, spec)| {
        let is_known = case.state.is_known_to_plan(owner);
        // A Pod that was created after the last list is a race that no client can win. Of a planned workload that is there,
        // nobody could be surprised.
        let excused = if kind(owner) == "Pod" {
            (!is_known || is_orphan(owner, case.state))
                && case.read.is_some_and(|read| !read.contains(uid(owner)))
        } else {
            !is_known
        };
        mounts(owner, spec) && !excused
    })?;
    Some(format!("{} uses it", title(user.0)))
}

/// Whether an object was made for owners that are all gone.
fn is_orphan(object: &Value, state: &State) -> bool {
    let mut owners = owners(object).peekable();
    owners.peek().is_some() && owners.all(|owner| state.by_uid(text(owner, "/uid")).is_none())
}

/// A node may write to a volume that is attached to it.
fn attached(case: &Case<'_>) -> Option<String> {
    let volume = match kind(case.object) {
        "PersistentVolumeClaim" => text(case.object, "/spec/volumeName"),
        "PersistentVolume" => name(case.object),
        _ => return None,
    };
    let mut attachments = case
        .state
        .of_kind("VolumeAttachment")
        .filter(|attachment| !case.state.is_newer_than_plan(attachment) || (case.seen)(attachment));
    let attachment = attachments
        .find(|it| !volume.is_empty() && text(it, "/spec/source/persistentVolumeName") == volume)?;
    Some(format!("its volume is attached to {}", text(attachment, "/spec/nodeName")))
}

/// A Pod that was deleted by force may still run on its node. A volume that was detached from a node that is gone, or a
/// person, opens its storage.
fn ended_by_force(case: &Case<'_>) -> Option<String> {
    let is_claim = kind(case.object) == "PersistentVolumeClaim";
    if !is_claim || case.is_taken_on {
        return None;
    }
    let was_attached = case.state.was_attached(text(case.object, "/spec/volumeName"));
    let exists = |node: &str| case.state.of_kind("Node").any(|it| name(it) == node);
    let mut pods = case.state.ended_by_force(namespace(case.object));
    let pod = pods.find(|pod| {
        let mut volumes = list(pod, "/spec/volumes").iter();
        let mounts =
            volumes.any(|it| text(it, "/persistentVolumeClaim/claimName") == name(case.object));
        mounts && (!was_attached || exists(text(pod, "/spec/nodeName")))
    })?;
    Some(format!("{} was deleted by force", title(pod)))
}

/// The deletion of a namespace deletes its content in no order. Nobody can win the race with an object newer than the last list.
fn namespace_with_content(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Namespace" {
        return None;
    }
    let inside = name(case.object);
    let mut content = case.state.all().filter(|it| namespace(it) == inside);
    let left = content.find(|it| {
        (case.state.is_known_to_plan(it) || (case.seen)(it) || !(case.came_after_list)(it))
            && !is_made_by_the_cluster(it)
            && !is_of_people(it, case)
            && !is_light_and_came_back(it, case)
    })?;
    Some(format!("{} is in it", title(left)))
}

fn is_made_by_the_cluster(object: &Value) -> bool {
    match kind(object) {
        "ServiceAccount" => name(object) == "default",
        "ConfigMap" => name(object) == "kube-root-ca.crt",
        "Endpoints" | "EndpointSlice" | "Event" | "Lease" => true,
        _ => false,
    }
}

/// Whether an object has the name of a planned one that is gone, and holds nothing. Such objects are deleted together with the
/// namespace: controllers make them again as long as it is there.
fn is_light_and_came_back(object: &Value, case: &Case<'_>) -> bool {
    matches!(kind(object), "ConfigMap" | "Secret" | "ServiceAccount" | "RoleBinding")
        && list(object, "/metadata/finalizers").is_empty()
        && case.state.has_name_of_planned(object)
}

/// Whether an object gives rights to people outside of the unit. Such objects are deleted together with the namespace.
fn is_of_people(object: &Value, case: &Case<'_>) -> bool {
    if unit(object) == case.unit {
        return false;
    }
    let of_people = |binding: &Value| {
        list(binding, "/subjects")
            .iter()
            .any(|subject| matches!(text(subject, "/kind"), "User" | "Group"))
    };
    match kind(object) {
        "RoleBinding" => of_people(object),
        "Role" => {
            let mut given = case.state.within("RoleBinding", namespace(object)).filter(|binding| {
                text(binding, "/roleRef/kind") == "Role"
                    && text(binding, "/roleRef/name") == name(object)
            });
            given.all(|binding| unit(binding) != case.unit && of_people(binding))
        }
        _ => false,
    }
}

/// A volume goes after the claim that is bound to it.
fn volume(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "PersistentVolume" {
        return None;
    }
    let reference = &case.object["spec"]["claimRef"];
    let claim = case.state.find(
        "PersistentVolumeClaim",
        text(reference, "/namespace"),
        text(reference, "/name"),
    )?;
    let is_its_own = text(claim, "/spec/volumeName") == name(case.object)
        && (reference["uid"].is_null() || reference["uid"] == claim["metadata"]["uid"]);
    is_its_own.then(|| format!("{} is bound to it", title(claim)))
}

/// A retained volume stays, unless a label declares it part of the unit.
fn retained(case: &Case<'_>) -> Option<String> {
    let retained = kind(case.object) == "PersistentVolume"
        && text(case.object, "/spec/persistentVolumeReclaimPolicy") == "Retain"
        && unit(case.object) != UNIT;
    retained.then(|| "it is retained, and nobody declared it part of the unit".to_owned())
}

/// ConfigMaps, Secrets and ServiceAccounts go after the Pods that need them, and after the workloads that would
/// re-create such Pods.
fn used_by_pods(case: &Case<'_>) -> Option<String> {
    let target = name(case.object);
    let uses = |spec: &Value| match kind(case.object) {
        "ConfigMap" => {
            reads(spec, target, ["configMap/name", "configMap", "configMapRef", "configMapKeyRef"])
        }
        "Secret" => {
            reads(spec, target, ["secret/secretName", "secret", "secretRef", "secretKeyRef"])
                || list(spec, "/volumes")
                    .iter()
                    .any(|it| text(it, "/csi/nodePublishSecretRef/name") == target)
                || list(spec, "/imagePullSecrets").iter().any(|it| it["name"] == target)
        }
        "ServiceAccount" => text(spec, "/serviceAccountName") == target,
        _ => false,
    };
    let user = specs(case.state, namespace(case.object))
        .find(|(owner, spec)| is_relevant(case, owner) && uses(spec))?;
    Some(format!("{} needs it", title(user.0)))
}

/// Whether containers get an object of this name as files or as environment variables. The fields name it in a volume,
/// in a projected volume, in `envFrom` and in a single variable.
fn reads(spec: &Value, target: &str, [volume, projected, all, one]: [&str; 4]) -> bool {
    let as_files = list(spec, "/volumes").iter().any(|it| {
        let parts = list(it, "/projected/sources").iter();
        text(it, &format!("/{volume}")) == target
            || parts.into_iter().any(|part| part[projected]["name"] == target)
    });
    let containers = ["/initContainers", "/containers", "/ephemeralContainers"];
    let mut containers = containers.iter().flat_map(|containers| list(spec, containers));
    as_files
        || containers.any(|it| {
            list(it, "/envFrom").iter().any(|from| from[all]["name"] == target)
                || list(it, "/env").iter().any(|env| env["valueFrom"][one]["name"] == target)
        })
}

/// A Secret goes after the ServiceAccount that refers to it and after the Ingress that serves it.
fn secret_in_use(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Secret" {
        return None;
    }
    let within = namespace(case.object);
    let is_it = |it: &Value, field: &str| it[field] == name(case.object);
    let is_left = |it: &&Value| !(case.is_waived)(it);
    let mut accounts = case.state.within("ServiceAccount", within).filter(is_left);
    let user = accounts.find(|account| {
        let mut secrets =
            list(account, "/secrets").iter().chain(list(account, "/imagePullSecrets"));
        secrets.any(|it| is_it(it, "name"))
    });
    let mut ingresses = case.state.within("Ingress", within).filter(is_left);
    let user = user.or_else(|| {
        ingresses.find(|it| list(it, "/spec/tls").iter().any(|tls| is_it(tls, "secretName")))
    });
    Some(format!("{} refers to it", title(user?)))
}

/// A ConfigMap goes after the custom resources whose specs name it.
fn named(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "ConfigMap" {
        return None;
    }
    let mut reports = case.state.within("Report", namespace(case.object));
    let report = reports.find(|report| {
        let mut sources = list(report, "/spec/sources").iter();
        is_relevant(case, report) && sources.any(|it| it["settingsConfigMap"] == name(case.object))
    });
    Some(format!("{} names it", title(report?)))
}

/// A binding goes after the Pods that have its rights.
fn account_rights(case: &Case<'_>) -> Option<String> {
    if !matches!(kind(case.object), "RoleBinding" | "ClusterRoleBinding") {
        return None;
    }
    list(case.object, "/subjects").iter().find_map(|subject| {
        let account = (text(subject, "/kind") == "ServiceAccount").then_some(subject)?;
        let mut users = specs(case.state, text(account, "/namespace"));
        let (user, _) = users.find(|(owner, spec)| {
            is_relevant(case, owner) && text(spec, "/serviceAccountName") == text(account, "/name")
        })?;
        Some(format!("{} runs with its rights", title(user)))
    })
}

/// A role goes after the bindings that refer to it.
fn role(case: &Case<'_>) -> Option<String> {
    let is = kind(case.object);
    if !matches!(is, "Role" | "ClusterRole") {
        return None;
    }
    let bindings =
        case.state.of_kind("RoleBinding").chain(case.state.of_kind("ClusterRoleBinding"));
    let mut giving = bindings.filter(|binding| {
        text(binding, "/roleRef/kind") == is
            && text(binding, "/roleRef/name") == name(case.object)
            && (is == "ClusterRole" || namespace(binding) == namespace(case.object))
            && !(case.is_waived)(binding)
    });
    Some(format!("{} gives it", title(giving.next()?)))
}

/// Services, budgets and policies select Pods as long as these run.
fn selector(case: &Case<'_>) -> Option<String> {
    let selector = match kind(case.object) {
        "Service" if text(case.object, "/spec/type") != "LoadBalancer" => {
            case.object.pointer("/spec/selector")
        }
        "PodDisruptionBudget" => case.object.pointer("/spec/selector/matchLabels"),
        "NetworkPolicy" => case.object.pointer("/spec/podSelector/matchLabels"),
        _ => None,
    }?;
    let pod = selected(case, namespace(case.object), selector).next()?;
    Some(format!("{} is selected by it", title(pod)))
}

/// An autoscaler would scale its target up again.
fn autoscaled(case: &Case<'_>) -> Option<String> {
    let mut scalers = case.state.within("HorizontalPodAutoscaler", namespace(case.object));
    let scaler = scalers.find(|scaler| {
        text(scaler, "/spec/scaleTargetRef/kind") == kind(case.object)
            && text(scaler, "/spec/scaleTargetRef/name") == name(case.object)
    })?;
    Some(format!("{} scales it", title(scaler)))
}

/// Traffic stops before its backend goes.
fn service_behind_ingress(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Service" {
        return None;
    }
    Some(format!("{} sends traffic to it", title(ingress_of(case, case.object)?)))
}

/// The Ingress in front of a Service.
fn ingress_of<'a>(case: &'a Case<'_>, service: &'a Value) -> Option<&'a Value> {
    let to_it = |path: &Value| text(path, "/backend/service/name") == name(service);
    // No watch may have shown one that is new.
    let is_known = |it: &&Value| {
        (case.state.creation(it).is_none() || (case.seen)(it)) && !(case.is_waived)(it)
    };
    let mut ingresses = case.state.within("Ingress", namespace(service)).filter(is_known);
    ingresses.find(|ingress| {
        let rules = list(ingress, "/spec/rules").iter();
        let mut paths = rules.flat_map(|rule| list(rule, "/http/paths"));
        paths.any(to_it) || text(ingress, "/spec/defaultBackend/service/name") == name(service)
    })
}

/// An ingress controller finds its Ingresses by their class.
fn ingress_class(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "IngressClass" {
        return None;
    }
    let mut ingresses = case.state.of_kind("Ingress").filter(|it| !(case.is_waived)(it));
    let served = ingresses.find(|it| text(it, "/spec/ingressClassName") == name(case.object))?;
    Some(format!("{} is served by it", title(served)))
}

/// The Pods behind a Service give its answers, so they stay as long as it has callers.
fn pods_behind_service(case: &Case<'_>) -> Option<String> {
    let labels = match kind(case.object) {
        "Pod" => &case.object["metadata"]["labels"],
        "CronJob" => &case.object["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"],
        _ => &case.object["spec"]["template"]["metadata"]["labels"],
    };
    if labels.is_null() {
        return None;
    }
    let services = case.state.within("Service", namespace(case.object));
    let mut finds = services.filter(|service| labels_match(&service["spec"]["selector"], labels));
    finds.find_map(|service| {
        // The callers of a load balancer are outside of the cluster.
        let balanced = text(service, "/spec/type") == "LoadBalancer";
        let caller = ingress_of(case, service).or_else(|| caller_of(case, service));
        let balancer = (balanced && !(case.is_waived)(service)).then_some(service);
        let caller = caller.or(balancer)?;
        Some(format!("{} is answered by it through {}", title(caller), title(service)))
    })
}

/// A claim from a template belongs to its StatefulSet until the set is gone.
fn made_from_template(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "PersistentVolumeClaim" {
        return None;
    }
    let mut sets = case.state.within("StatefulSet", namespace(case.object));
    let set = sets.find(|set| {
        case.state.is_known_to_plan(set)
            && list(set, "/spec/volumeClaimTemplates").iter().any(|template| {
                let prefix = format!("{}-{}-", name(template), name(set));
                let ordinal = name(case.object).strip_prefix(&prefix);
                ordinal.is_some_and(|ordinal| ordinal.parse::<u32>().is_ok())
            })
    })?;
    Some(format!("{} has it from a template", title(set)))
}

/// A Kustomization that is active creates again what it declares.
fn declared(case: &Case<'_>) -> Option<String> {
    let mark = |field: &str| {
        let label = format!("kustomize.toolkit.fluxcd.io/{field}");
        case.object["metadata"]["labels"][label].as_str()
    };
    let parent = case.state.find("Kustomization", mark("namespace")?, mark("name")?)?;
    let is_active =
        parent["spec"]["suspend"] != true && parent["metadata"]["deletionTimestamp"].is_null();
    let is_known = !case.state.is_newer_than_plan(parent) || (case.seen)(parent);
    let would_come_back = is_active && is_known && uid(parent) != uid(case.object);
    would_come_back.then(|| format!("{} would make it again", title(parent)))
}

/// Objects of another application stay.
fn bystander(case: &Case<'_>) -> Option<String> {
    let theirs = unit(case.object) == BYSTANDER
        || name(case.object) == BYSTANDER && kind(case.object) == "Namespace"
        || namespace(case.object) == BYSTANDER;
    theirs.then(|| "it belongs to the bystander".to_owned())
}

/// Objects that the cluster itself needs stay.
fn protected(case: &Case<'_>) -> Option<String> {
    let needed = |name: &str| name == "default" || name.starts_with("kube-");
    let is = kind(case.object) == "Namespace" && needed(name(case.object))
        || needed(namespace(case.object));
    is.then(|| "the cluster needs it".to_owned())
}
