//! A remedy whose calls the server's own identity may not make.

use super::*;

const RBAC: &str = "rbac.authorization.k8s.io";

/// The actor of the server without the group that may do everything.
fn reader() -> Actor {
    Actor { name: "li".into(), groups: vec!["system:authenticated".into()], ..Actor::default() }
}

fn grant(world: &mut ControlPlane, name: &str, rules: &Value) {
    create(world, RBAC, "clusterroles", "", json!({"metadata": {"name": name}, "rules": rules}));
    let binding = json!({
        "metadata": {"name": name},
        "subjects": [{"kind": "User", "name": "li", "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": RBAC},
    });
    create(world, RBAC, "clusterrolebindings", "", binding);
}

#[tokio::test(start_paused = true)]
async fn right_that_is_taken_away_disables_the_remedy_until_it_is_granted() {
    let server = Server::start(reader(), |world| {
        incident(world, "s4");
        let look =
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
        grant(world, "look", &look);
    });
    let is_removal = |act: &RemedyAct| matches!(act, RemedyAct::RemoveFinalizer { .. });
    let answered = async |expected: &str| {
        for _ in 0..1_000 {
            for remedy in server.shown().await.into_iter().filter(|it| is_removal(&it.act)) {
                if let Err(RemedyRefusal::MayNot(right)) = remedy.check_offered() {
                    assert!(remedy.request().is_some(), "the command stays");
                    let right = right.to_string();
                    assert!(right.starts_with(expected), "{right}");
                    return;
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("no right is missing");
    };
    answered("patch topics.queue.example ").await;

    server.sandbox.with(|world| {
        let patch =
            json!([{"apiGroups": ["queue.example"], "resources": ["topics"], "verbs": ["patch"]}]);
        grant(world, "patch", &patch);
    });
    let permitted = |remedy: &Remedy| {
        !remedy.permits.is_empty()
            && remedy.permits.iter().all(|it| it.answer == PermitAnswer::Allowed)
    };
    for _ in 0..200 {
        if server.shown().await.iter().any(|it| is_removal(&it.act) && permitted(it)) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("the right that was granted is never seen");
}
