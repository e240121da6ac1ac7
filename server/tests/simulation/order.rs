//! Who may not go while who is there: the order rules, over plain objects, at the moment of one DELETE. Written from
//! what Kubernetes does to those who break them, not from the planner.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    application::{BYSTANDER, UNIT},
    state::{State, kind, list, name, namespace, owners, text, title, uid, unit},
};

/// One DELETE: what it is about, and what was there.
pub(crate) struct Case<'a> {
    /// What its run takes apart.
    pub(crate) unit: &'a str,
    pub(crate) state: &'a State,
    pub(crate) object: &'a Value,
    /// Whether the server must have known of something that no plan could know of.
    pub(crate) seen: &'a dyn Fn(&Value) -> bool,
    /// UIDs of the Pods that were there when the server last read the Pods of the namespace; none where it did not.
    pub(crate) read: Option<&'a BTreeSet<String>>,
}

type Rule = fn(&Case<'_>) -> Option<String>;

const RULES: [Rule; 19] = [
    owner,
    claim,
    namespace_with_content,
    volume,
    retained,
    used_by_pods,
    lent,
    account_rights,
    role,
    selecting,
    scaled,
    routed,
    classed,
    defined,
    answering,
    behind,
    made_from_template,
    bystander,
    protected,
];

/// Everything that forbids this DELETE.
pub(crate) fn offences(case: &Case<'_>) -> Vec<String> {
    RULES.iter().filter_map(|rule| rule(case)).collect()
}

/// Pods, and what makes them, with the specification of the Pods.
fn specs<'a>(state: &'a State, within: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    const MAKERS: [(&str, &str); 8] = [
        ("Pod", "/spec"),
        ("Deployment", "/spec/template/spec"),
        ("ReplicaSet", "/spec/template/spec"),
        ("StatefulSet", "/spec/template/spec"),
        ("DaemonSet", "/spec/template/spec"),
        ("Job", "/spec/template/spec"),
        ("ReplicationController", "/spec/template/spec"),
        ("CronJob", "/spec/jobTemplate/spec/template/spec"),
    ];
    MAKERS.into_iter().flat_map(move |(kind, path)| {
        state.within(kind, within).filter_map(move |it| Some((it, it.pointer(path)?)))
    })
}

/// Whether a claim that says nothing of itself is the unit's, as nobody else mounts it.
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
    // The applications select by labels alone; a selector with expressions would have to be understood here.
    let wanted = selector.as_object();
    wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

/// Pods that a selector of `matchLabels` matches.
fn selected<'a>(
    case: &'a Case<'_>,
    within: &'a str,
    selector: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    let pods = case.state.within("Pod", within).filter(|pod| counts(case, pod));
    pods.filter(move |pod| labels_match(selector, &pod["metadata"]["labels"]))
}

/// Whether somebody is to be reckoned with: who was there when it was planned. Who came later, if the server must have
/// seen it, as only storage is worth a read of what is there now; of those that came of nothing planned Pods alone, until
/// they have run to their end.
fn counts(case: &Case<'_>, user: &Value) -> bool {
    let is_running_pod =
        || kind(user) == "Pod" && !matches!(text(user, "/status/phase"), "Succeeded" | "Failed");
    (!case.state.came_later(user) || (case.seen)(user))
        && (case.state.knows(user) || is_running_pod())
}

/// An owner makes anew what it owns, or has it collected in an order of its own.
fn owner(case: &Case<'_>) -> Option<String> {
    let owner = owners(case.object).find_map(|owner| {
        let owner = case.state.by_uid(text(owner, "/uid"))?;
        let is_one = namespace(owner).is_empty() || namespace(owner) == namespace(case.object);
        is_one.then_some(owner)
    })?;
    Some(format!("its owner {} is there", title(owner)))
}

/// Storage is used by what mounts it until the last byte is written, whoever made it.
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
        // A newcomer that came after the last look is a race that nobody can win.
        let excused = !case.state.knows(owner)
            && (kind(owner) != "Pod" || case.read.is_some_and(|read| !read.contains(uid(owner))));
        mounts(owner, spec) && !excused
    })?;
    Some(format!("{} uses it", title(user.0)))
}

/// A namespace takes its content with it in no order.
fn namespace_with_content(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Namespace" {
        return None;
    }
    let inside = name(case.object);
    let mut content = case.state.all().filter(|it| namespace(it) == inside);
    let left = content.find(|it| {
        (case.state.knows(it) || (case.seen)(it))
            && !is_made_by_the_cluster(it)
            && !is_of_people(it, case)
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

/// Rights of people that the unit does not claim go with the namespace, and only then.
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

/// Data that somebody wants retained stays, unless the volume is declared part of the unit.
fn retained(case: &Case<'_>) -> Option<String> {
    let retained = kind(case.object) == "PersistentVolume"
        && text(case.object, "/spec/persistentVolumeReclaimPolicy") == "Retain"
        && unit(case.object) != UNIT;
    retained.then(|| "it is retained, and nobody declared it part of the unit".to_owned())
}

/// What Pods read, and whom they run as, goes after them and after what would make another one.
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
        .find(|(owner, spec)| counts(case, owner) && uses(spec))?;
    Some(format!("{} needs it", title(user.0)))
}

/// Whether containers get something of this name as files or in their environment; `fields` are how a volume, a part of
/// a projected one, the whole environment and one variable name it.
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

/// What an account lends to Pods, or an Ingress shows to clients, goes after it.
fn lent(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Secret" {
        return None;
    }
    let within = namespace(case.object);
    let is_it = |it: &Value, field: &str| it[field] == name(case.object);
    let mut accounts = case.state.within("ServiceAccount", within);
    let lender = accounts.find(|account| {
        let mut lent = list(account, "/secrets").iter().chain(list(account, "/imagePullSecrets"));
        lent.any(|it| is_it(it, "name"))
    });
    let mut ingresses = case.state.within("Ingress", within);
    let lender = lender.or_else(|| {
        ingresses.find(|it| list(it, "/spec/tls").iter().any(|tls| is_it(tls, "secretName")))
    });
    Some(format!("{} refers to it", title(lender?)))
}

/// Rights go after the Pods that have them.
fn account_rights(case: &Case<'_>) -> Option<String> {
    if !matches!(kind(case.object), "RoleBinding" | "ClusterRoleBinding") {
        return None;
    }
    list(case.object, "/subjects").iter().find_map(|subject| {
        let account = (text(subject, "/kind") == "ServiceAccount").then_some(subject)?;
        let mut users = specs(case.state, text(account, "/namespace"));
        let (user, _) = users.find(|(owner, spec)| {
            counts(case, owner) && text(spec, "/serviceAccountName") == text(account, "/name")
        })?;
        Some(format!("{} runs with its rights", title(user)))
    })
}

/// A role goes after the bindings that give it.
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
    });
    Some(format!("{} gives it", title(giving.next()?)))
}

/// Services, budgets and policies protect and find Pods for as long as these run.
fn selecting(case: &Case<'_>) -> Option<String> {
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

/// An autoscaler scales up again what it finds too small.
fn scaled(case: &Case<'_>) -> Option<String> {
    let mut scalers = case.state.within("HorizontalPodAutoscaler", namespace(case.object));
    let scaler = scalers.find(|scaler| {
        text(scaler, "/spec/scaleTargetRef/kind") == kind(case.object)
            && text(scaler, "/spec/scaleTargetRef/name") == name(case.object)
    })?;
    Some(format!("{} scales it", title(scaler)))
}

/// Traffic stops before what answers it.
fn routed(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Service" {
        return None;
    }
    Some(format!("{} sends traffic to it", title(router(case, case.object)?)))
}

/// An Ingress in front of a Service.
fn router<'a>(case: &'a Case<'_>, service: &'a Value) -> Option<&'a Value> {
    let to_it = |path: &Value| text(path, "/backend/service/name") == name(service);
    let mut ingresses = case.state.within("Ingress", namespace(service));
    ingresses.find(|ingress| {
        let rules = list(ingress, "/spec/rules").iter();
        let mut paths = rules.flat_map(|rule| list(rule, "/http/paths"));
        paths.any(to_it) || text(ingress, "/spec/defaultBackend/service/name") == name(service)
    })
}

/// Whoever serves an Ingress finds it by its class.
fn classed(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "IngressClass" {
        return None;
    }
    let mut ingresses = case.state.of_kind("Ingress");
    let served = ingresses.find(|it| text(it, "/spec/ingressClassName") == name(case.object))?;
    Some(format!("{} is served by it", title(served)))
}

/// A definition takes all its objects with it.
fn defined(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "CustomResourceDefinition" {
        return None;
    }
    let group = text(case.object, "/spec/group");
    let mut objects = case.state.of_kind(text(case.object, "/spec/names/kind"));
    let left = objects.find(|it| text(it, "/apiVersion").starts_with(&format!("{group}/")))?;
    Some(format!("{} is of its kind", title(left)))
}

/// A webhook without a backend refuses everything; an APIService without one breaks discovery.
fn answering(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Service" {
        return None;
    }
    Some(format!("{} is answered by it", title(asking(case, case.object)?)))
}

/// A webhook configuration or an APIService that a Service answers for.
fn asking<'a>(case: &'a Case<'_>, service: &Value) -> Option<&'a Value> {
    let is_it = |reference: &Value| {
        text(reference, "/namespace") == namespace(service)
            && text(reference, "/name") == name(service)
    };
    let configurations = case
        .state
        .of_kind("ValidatingWebhookConfiguration")
        .chain(case.state.of_kind("MutatingWebhookConfiguration"));
    let asks = |it: &&Value| {
        list(it, "/webhooks").iter().any(|hook| is_it(&hook["clientConfig"]["service"]))
    };
    let mut registrations = case.state.of_kind("APIService");
    configurations
        .into_iter()
        .find(asks)
        .or_else(|| registrations.find(|it| is_it(&it["spec"]["service"])))
}

/// It is not a Service that answers, but the Pods behind it: they stay as long as anybody asks.
fn behind(case: &Case<'_>) -> Option<String> {
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
        // Whoever comes through a load balancer comes from outside.
        let balanced = text(service, "/spec/type") == "LoadBalancer";
        let asker = router(case, service).or_else(|| asking(case, service));
        let asker = asker.or(balanced.then_some(service))?;
        Some(format!("{} is answered by it through {}", title(asker), title(service)))
    })
}

/// A claim from a template is the set's until the set is gone.
fn made_from_template(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "PersistentVolumeClaim" {
        return None;
    }
    let mut sets = case.state.within("StatefulSet", namespace(case.object));
    let set = sets.find(|set| {
        case.state.knows(set)
            && list(set, "/spec/volumeClaimTemplates").iter().any(|template| {
                let prefix = format!("{}-{}-", name(template), name(set));
                let ordinal = name(case.object).strip_prefix(&prefix);
                ordinal.is_some_and(|ordinal| ordinal.parse::<u32>().is_ok())
            })
    })?;
    Some(format!("{} has it from a template", title(set)))
}

/// Another application's is not ours to touch.
fn bystander(case: &Case<'_>) -> Option<String> {
    let theirs = unit(case.object) == BYSTANDER
        || name(case.object) == BYSTANDER && kind(case.object) == "Namespace"
        || namespace(case.object) == BYSTANDER;
    theirs.then(|| "it is the bystander's".to_owned())
}

/// What the cluster itself needs.
fn protected(case: &Case<'_>) -> Option<String> {
    let needed = |name: &str| name == "default" || name.starts_with("kube-");
    let is = kind(case.object) == "Namespace" && needed(name(case.object))
        || needed(namespace(case.object));
    is.then(|| "the cluster needs it".to_owned())
}
