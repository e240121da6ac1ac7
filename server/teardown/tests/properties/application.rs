//! Random applications: one to three namespaces, workloads of each kind with Pods, claims, accounts and traffic, and a
//! bystander that may use objects of the application.

use proptest::prelude::*;

/// One workload with the objects around it.
#[derive(Clone, Debug)]
struct Part {
    namespace: usize,
    kind: &'static str,
    pods: usize,
    claim: bool,
    config: bool,
    account: bool,
    service: bool,
    ingress: bool,
    scaled: bool,
    guarded: bool,
    reclaim: &'static str,
}

fn part() -> impl Strategy<Value = Part> {
    let kinds = prop::sample::select(vec!["deploy", "sts", "job", "pod"]);
    let reclaim = prop::sample::select(vec!["Delete", "Retain"]);
    (0usize..3, kinds, 0usize..4, reclaim, any::<[bool; 7]>()).prop_map(
        |(namespace, kind, pods, reclaim, flags)| {
            let [claim, config, account, service, ingress, scaled, guarded] = flags;
            Part {
                namespace,
                kind,
                pods,
                claim,
                config,
                account,
                service,
                ingress,
                scaled,
                guarded,
                reclaim,
            }
        },
    )
}

/// The fixture of an application called `shop` and of a bystander.
pub(crate) fn application() -> impl Strategy<Value = String> {
    let bystander = prop::option::of((0usize..3, any::<[bool; 3]>()));
    (prop::collection::vec(part(), 1..5), bystander, any::<bool>()).prop_map(|(parts, bystander, labelled)| {
        let mut text = String::new();
        for namespace in 0..3 {
            let label = if labelled { " of=shop" } else { "" };
            text += &format!("ns ns{namespace}{label}\nsa ns{namespace}/default\ncm ns{namespace}/kube-root-ca.crt\n");
        }
        for (number, part) in parts.iter().enumerate() {
            text += &part.text(number);
        }
        if let Some((namespace, [claim, config, service])) = bystander {
            let mut uses = vec!["account:default"];
            if claim {
                uses.push("claim:data-0");
            }
            if config {
                uses.push("config:settings-0");
            }
            let uses = uses.join(",");
            text += &format!("pod ns{namespace}/other of=other labels=app:other uses={uses}\n");
            if service {
                text += &format!("svc ns{namespace}/other of=other selector=app:p0\n");
            }
        }
        text
    })
}

impl Part {
    fn text(&self, number: usize) -> String {
        let ns = format!("ns{}", self.namespace);
        let (app, name) = (format!("app:p{number}"), format!("p{number}"));
        let mut uses = Vec::new();
        let mut text = String::new();
        if self.claim {
            uses.push(format!("claim:data-{number}"));
            text += &format!(
                "pvc {ns}/data-{number} of=shop volume=pv-{number} finalizers=kubernetes.io/pvc-protection\n"
            );
            text += &format!(
                "pv pv-{number} claim={ns}/data-{number} reclaim={} capacity=1Gi\n",
                self.reclaim
            );
        }
        if self.config {
            uses.push(format!("config:settings-{number}"));
            text += &format!("cm {ns}/settings-{number} of=shop\n");
        }
        if self.account {
            uses.push(format!("account:{name}"));
            text += &format!("sa {ns}/{name} of=shop\nrole {ns}/{name} of=shop\n");
            text += &format!("rb {ns}/{name} of=shop accounts={name} role=role/{name}\n");
        }
        let uses = uses.join(",");
        let workload = match self.kind {
            "pod" => None,
            kind => {
                text += &format!(
                    "{kind} {ns}/{name} of=shop selector={app} template={app} uses={uses}\n"
                );
                Some(if kind == "deploy" {
                    text += &format!(
                        "rs {ns}/{name}-1 owner=deploy/{name} selector={app} template={app} uses={uses}\n"
                    );
                    format!("rs/{name}-1")
                } else {
                    format!("{kind}/{name}")
                })
            }
        };
        // A part without a workload has at least one Pod, so that an application is never empty.
        for pod in 0..self.pods.max(usize::from(workload.is_none())) {
            let owner =
                workload.as_ref().map_or(" of=shop".to_owned(), |owner| format!(" owner={owner}"));
            text += &format!("pod {ns}/{name}-{pod}{owner} labels={app} uses={uses}\n");
        }
        if self.service {
            text += &format!("svc {ns}/{name} of=shop selector={app}\n");
            if self.ingress {
                text += &format!("ing {ns}/{name} of=shop routes={name}\n");
            }
        }
        if self.scaled && self.kind == "deploy" {
            text += &format!("hpa {ns}/{name} of=shop target=deploy/{name}\n");
        }
        if self.guarded {
            text += &format!(
                "pdb {ns}/{name} of=shop selector={app}\nnetpol {ns}/{name} of=shop selector={app}\n"
            );
        }
        text
    }
}
