//! The objects that a remedy hits besides its target. Only the server asks for it: see `teardown::advice`.

use teardown::{
    object::ObjectRef,
    remedy::{Reach, ReachedClaim, ReachedPod},
};

use crate::text::{NAMED, isolated, many, more, named, objects, some_of};

/// The other objects that it hits, a line for each Pod that it ends; none if there are none.
pub(super) fn remedy_reaches(reach: &Reach) -> Vec<String> {
    let mut lines = Vec::new();
    let (with_claims, without): (Vec<&ReachedPod>, Vec<&ReachedPod>) =
        reach.pods.iter().partition(|it| !it.claims.is_empty());
    if !reach.pods.is_empty() {
        let ends = many(reach.pods.len(), "Pod", "Pods");
        let mut used: Vec<&ObjectRef> =
            with_claims.iter().flat_map(|it| &it.claims).map(|it| &it.claim).collect();
        used.sort();
        used.dedup();
        lines.push(match used.len() {
            0 => format!("Also hits {ends}."),
            claims => {
                format!("Also hits {ends} with {}:", many(claims, "claim", "claims"))
            }
        });
    }
    lines
        .extend(with_claims.iter().map(|it| format!("{}: {}", named(&it.pod), claims(&it.claims))));
    if !without.is_empty() {
        let names: Vec<String> = without.iter().map(|it| named(&it.pod)).collect();
        lines.push(format!("Without a claim: {}.", names.join(", ")));
    }
    if !reach.claims.is_empty() {
        lines.push(format!("Also hits what the Pod mounts: {}", claims(&reach.claims)));
    }
    if reach.released > 0 {
        let count = many(reach.released, "namespace", "namespaces");
        lines.push(format!("Releases {count}: {}.", all(&reach.releases, reach.released)));
    }
    let mut others = Vec::new();
    if reach.total > 0 {
        others.push(format!("{}: {}", objects(reach.total), all(&reach.objects, reach.total)));
    }
    if !reach.resources.is_empty() {
        let names: Vec<String> = reach.resources.iter().map(|it| isolated(it)).collect();
        others.push(format!("in the whole cluster: {}", some_of(&names, NAMED)));
    }
    if !others.is_empty() {
        lines.push(format!("Also hits {}.", others.join("; ")));
    }
    lines
}

/// The objects that are listed, and the number of the others.
fn all(listed: &[ObjectRef], total: usize) -> String {
    let shown: Vec<String> = listed.iter().map(named).collect();
    match total.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        rest => format!("{} {}", shown.join(", "), more(rest)),
    }
}

/// Claims with the nodes that can use their volumes.
pub(super) fn claims(claims: &[ReachedClaim]) -> String {
    let all: Vec<String> = claims.iter().map(claim).collect();
    format!("{}.", all.join(", "))
}

/// A claim with the nodes that can use its volume.
pub(in crate::text::en) fn claim(
    ReachedClaim { claim, one_node, node_local }: &ReachedClaim,
) -> String {
    let which = match (one_node, node_local) {
        (true, true) => " (ReadWriteOnce, on the node’s own disk)",
        (true, false) => " (ReadWriteOnce: one node at a time)",
        (false, true) => " (on the node’s own disk)",
        (false, false) => "",
    };
    format!("{}{which}", named(claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str) -> ObjectRef {
        ObjectRef {
            group: "".into(),
            kind: kind.into(),
            namespace: Some("shop".into()),
            name: name.into(),
        }
    }

    fn reached(name: &str, one_node: bool, node_local: bool) -> ReachedClaim {
        ReachedClaim { claim: object("PersistentVolumeClaim", name), one_node, node_local }
    }

    #[test]
    fn every_pod_is_named_with_its_claims_and_the_numbers_add_up() {
        let mut pods = vec![ReachedPod {
            pod: object("Pod", "db-0"),
            claims: vec![reached("data", true, false), reached("log", true, true)],
        }];
        pods.extend(
            (0..80).map(|n| ReachedPod { pod: object("Pod", &format!("web-{n}")), claims: vec![] }),
        );
        let lines = remedy_reaches(&Reach { pods, ..Reach::default() });
        assert_eq!(
            lines[..2],
            [
                "Also hits 81 Pods with 2 claims:",
                "Pod shop/db-0: PersistentVolumeClaim shop/data (ReadWriteOnce: one node at a time), \
                 PersistentVolumeClaim shop/log (ReadWriteOnce, on the node’s own disk).",
            ]
        );
        assert_eq!(lines[2].matches("Pod shop/web-").count(), 80);
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn namespaces_that_go_on_are_named() {
        let releases = vec![object("ConfigMap", "a")];
        let lines = remedy_reaches(&Reach { releases, released: 1, ..Reach::default() });
        assert_eq!(lines, ["Releases 1 namespace: ConfigMap shop/a."]);
    }

    #[test]
    fn other_objects_that_are_not_listed_are_counted() {
        let listed = (0..50).map(|n| object("ConfigMap", &format!("c{n}"))).collect();
        let resources = vec!["*.apps".to_owned()];
        let reach = Reach { objects: listed, total: 80, resources, ..Reach::default() };
        let [line] = &*remedy_reaches(&reach) else { panic!("one line") };
        assert!(line.starts_with("Also hits 80 objects: ConfigMap shop/c0, "), "{line}");
        assert!(line.ends_with("c49 and 30 more; in the whole cluster: *.apps."), "{line}");
    }
}
