use crate::{
    fixture,
    graph::Graph,
    observation::{HiddenCause, Observation},
    relation::{Attribution, EdgeKind},
};

/// An operator with rights by name, its definition, and one object with its finalizer.
const OPERATOR: &str = "
    crd topics.queue.example of=queue defines=Topic.queue.example
    deploy queue/operator of=queue uses=account:operator
    sa queue/operator of=queue
    clusterrole topics of=queue updates=topics.queue.example
    crb topics of=queue accounts=queue/operator role=clusterrole/topics
    Topic.queue.example shop/orders finalizers=queue.example/topic
";

/// The finishers of all objects: the object, how certain it is, the workload.
fn finishers(text: &str) -> Vec<String> {
    finishers_of(&fixture::graph(text))
}

fn finishers_of(graph: &Graph) -> Vec<String> {
    let mut found: Vec<String> = graph
        .edges()
        .filter(|edge| edge.kind == EdgeKind::Finishes)
        .map(|edge| {
            format!("{} {:?} {} by {}", edge.from, edge.strength, edge.to, edge.reason.value)
        })
        .collect();
    found.sort();
    found
}

/// How the finishers of a fixture are known.
fn attributions(text: &str) -> Vec<Attribution> {
    let graph = fixture::graph(text);
    let edges = graph.edges().filter(|edge| edge.kind == EdgeKind::Finishes);
    edges.filter_map(|edge| edge.reason.attribution).collect()
}

#[test]
fn edge_says_how_its_finisher_is_known() {
    use Attribution::{Project, Release, Rights, Status, Unit, Wildcard, Writer};
    let two = format!("{OPERATOR} deploy queue/spare of=other uses=account:operator");
    let apart = OPERATOR.replace(" of=queue", "")
        + "deploy backup/agent uses=account:agent
           crb backup accounts=backup/agent role=clusterrole/topics";
    let managers = "finalizers=queue.example/topic managers=queue.example/topic:agent:900";
    let written = apart.replace("finalizers=queue.example/topic", managers);
    let status = format!(
        "{apart}
         clusterrole status updates=topics/status.queue.example
         crb status accounts=queue/operator role=clusterrole/status"
    );
    for (fixture, known) in [
        (OPERATOR.to_owned(), Rights),
        (written, Writer),
        (status, Status),
        (two, Release),
        (
            OPERATOR
                .replace("queue/operator of=queue uses", "queue/cert-manager uses")
                .replace("finalizers=queue.example/topic", "finalizers=acme.cert-manager.io/x"),
            Project,
        ),
        (OPERATOR.replace("=topics.queue.example", "=*.*").replace(" of=queue", ""), Wildcard),
        (OPERATOR.replace("crb topics", "cm shop/topics"), Unit),
    ] {
        assert_eq!(attributions(&fixture), [known], "{fixture}");
    }
}

#[test]
fn workload_whose_account_may_update_the_resource_is_the_finisher() {
    assert_eq!(
        finishers(OPERATOR),
        ["Topic.queue.example:shop/orders Hard deploy:queue/operator by queue.example/topic"]
    );
    // The right to the finalizers alone suffices.
    let finalizers_alone = OPERATOR.replace("updates=topics.", "updates=topics/finalizers.");
    assert_eq!(finishers(&finalizers_alone), finishers(OPERATOR));
}

#[test]
fn rights_to_a_namesake_make_no_finisher() {
    let other_group = OPERATOR
        .replace("updates=topics.queue.example", "updates=topics.other.example")
        .replace(" of=queue", "");
    assert_eq!(finishers(&other_group), [""; 0]);
    let other_namespace =
        OPERATOR.replace("crb topics", "rb queue/topics").replace(" of=queue", "");
    assert_eq!(finishers(&other_namespace), [""; 0]);
    let other_account = OPERATOR
        .replace("accounts=queue/operator", "accounts=other/operator")
        .replace(" of=queue", "");
    assert_eq!(finishers(&other_account), [""; 0]);
}

#[test]
fn control_plane_clears_its_own_finalizers() {
    for own in ["foregroundDeletion", "customresourcecleanup.apiextensions.k8s.io"] {
        assert_eq!(finishers(&OPERATOR.replace("queue.example/topic", own)), [""; 0]);
    }
}

#[test]
fn program_of_the_finalizers_project_is_chosen() {
    let fixture = "
        deploy cm/cert-manager uses=account:cm
        deploy cm/other uses=account:cm
        clusterrole challenges updates=challenges.acme.cert-manager.io
        crb challenges accounts=cm/cm role=clusterrole/challenges
        Challenge.acme.cert-manager.io shop/tls finalizers=acme.cert-manager.io/finalizer
    ";
    assert_eq!(
        finishers(fixture),
        [
            "Challenge.acme.cert-manager.io:shop/tls Hard deploy:cm/cert-manager by acme.cert-manager.io/finalizer"
        ]
    );
}

#[test]
fn only_candidate_in_the_definitions_release_is_chosen() {
    let fixture = format!(
        "{OPERATOR}
         deploy backup/agent uses=account:agent
         crb backup accounts=backup/agent role=clusterrole/topics"
    );
    assert_eq!(finishers(&fixture), finishers(OPERATOR));
    let without_labels = fixture.replace(" of=queue", "");
    assert_eq!(
        finishers(&without_labels),
        [
            "Topic.queue.example:shop/orders Yielding deploy:backup/agent by queue.example/topic",
            "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
        ]
    );
}

/// The finishers of a topic that an operator and an agent may change, neither of the definition's release.
fn of_two(topic: &str, rights: &str, more: &str) -> Vec<String> {
    finishers(&format!(
        "crd topics.queue.example defines=Topic.queue.example
         deploy queue/operator uses=account:operator
         deploy backup/agent uses=account:agent
         deploy queue/reporter uses=account:reporter
         clusterrole topics updates={rights}
         crb topics accounts=queue/operator,backup/agent role=clusterrole/topics
         {more}
         Topic.queue.example shop/orders finalizers=queue.example/topic {topic}"
    ))
}

const BOTH: [&str; 2] = [
    "Topic.queue.example:shop/orders Yielding deploy:backup/agent by queue.example/topic",
    "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
];

#[test]
fn only_candidate_that_is_called_like_the_field_manager_is_chosen() {
    let by_name = "topics.queue.example";
    let written =
        |manager: &str, rights: &str| of_two(&format!("managers={manager}:900"), rights, "");
    assert_eq!(
        written("queue.example/topic:agent", by_name),
        ["Topic.queue.example:shop/orders Hard deploy:backup/agent by queue.example/topic"]
    );
    for (manager, rights) in [
        // Names that many programs have, that of another program, and that of the writer of another finalizer.
        ("queue.example/topic:manager", by_name),
        ("queue.example/topic:kubectl-edit", by_name),
        ("queue.example/topic:other", by_name),
        ("other.example/topic:agent", by_name),
        // A rule for everything shows nothing.
        ("queue.example/topic:agent", "*.*"),
    ] {
        assert_eq!(written(manager, rights), BOTH, "{manager} {rights}");
    }
}

#[test]
fn only_candidate_that_may_write_the_status_is_chosen() {
    let with = |status: &str, binding: &str, accounts: &str| {
        let more = format!(
            "clusterrole status updates={status}
             {binding} accounts={accounts} role=clusterrole/status"
        );
        of_two("", "topics.queue.example", &more)
    };
    let (status, operator) = ("topics/status.queue.example", "queue/operator");
    for binding in ["crb status", "rb shop/status"] {
        assert_eq!(
            with(status, binding, operator),
            ["Topic.queue.example:shop/orders Hard deploy:queue/operator by queue.example/topic"]
        );
    }
    for (status, binding, accounts) in [
        (status, "rb other/status", operator),
        ("brokers/status.queue.example", "crb status", operator),
        ("topics/status.other.example", "crb status", operator),
        // Two that may write it, and one that may do nothing else.
        (status, "crb status", "queue/operator,backup/agent"),
        (status, "crb status", "queue/reporter"),
    ] {
        assert_eq!(with(status, binding, accounts), BOTH, "{status} {binding} {accounts}");
    }
}

#[test]
fn wildcard_attributes_nobody() {
    let fixture =
        OPERATOR.replace("updates=topics.queue.example", "updates=*.*").replace(" of=queue", "");
    assert_eq!(
        finishers(&fixture),
        ["Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic"]
    );
}

/// An agent with a right by name, as a backup tool or an application has it.
const AGENT: &str = "
    deploy backup/agent uses=account:agent
    clusterrole backup updates=topics.queue.example
    crb backup accounts=backup/agent role=clusterrole/backup
";

#[test]
fn rule_for_all_resources_of_an_operators_group_is_a_right_by_name() {
    let unlabelled = OPERATOR.replace(" of=queue", "");
    let with = |rule: &str| unlabelled.replace("updates=topics.queue.example", rule);
    let whole = with("updates=*.queue.example");
    assert_eq!(finishers(&whole), finishers(OPERATOR));
    assert_eq!(attributions(&whole), [Attribution::Rights]);
    // The status is among all resources of the group.
    assert_eq!(finishers(&format!("{whole} {AGENT}")), finishers(OPERATOR));
    assert_eq!(attributions(&format!("{whole} {AGENT}")), [Attribution::Status]);
    assert_eq!(finishers(&with("updates=*.other.example")), [""; 0]);
}

#[test]
fn rule_for_a_shared_group_is_none_by_name_beside_an_operator_with_the_resource_and_its_status() {
    let core = OPERATOR.replace("updates=topics.queue.example", "updates=*.queue.example");
    let core = core.replace(" of=queue", "");
    let provider =
        AGENT.replace("topics.queue.example", "topics.queue.example,topics/status.queue.example");
    assert_eq!(
        finishers(&format!("{core} {provider}")),
        [
            "Topic.queue.example:shop/orders Hard deploy:backup/agent by queue.example/topic",
            "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
        ]
    );
    // Another that has the resource without its status takes nothing from the provider.
    let tool = "
        deploy tools/sync uses=account:sync
        clusterrole sync updates=topics.queue.example
        crb sync accounts=tools/sync role=clusterrole/sync
    ";
    let found = attributions(&format!("{core} {provider} {tool}"));
    assert_eq!(found, [Attribution::Status, Attribution::Wildcard]);
}

#[test]
fn rule_for_all_resources_of_a_group_of_kubernetes_attributes_nobody() {
    let fixture = "
        deploy tools/scaler uses=account:scaler
        clusterrole apps updates=*.apps
        crb apps accounts=tools/scaler role=clusterrole/apps
        deploy shop/web finalizers=example.com/drain
    ";
    assert_eq!(
        finishers(fixture),
        ["deploy:shop/web Yielding deploy:tools/scaler by example.com/drain"]
    );
}

#[test]
fn workload_with_rights_to_everything_stays_possible_beside_a_right_by_name() {
    let fixture = OPERATOR.replace("updates=topics.queue.example", "updates=*.*") + AGENT;
    let unlabelled = fixture.replace(" of=queue", "");
    assert_eq!(
        finishers(&unlabelled),
        [
            "Topic.queue.example:shop/orders Hard deploy:backup/agent by queue.example/topic",
            "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
        ]
    );
    // The release of the definition and the project of the finalizer choose among all who have the right. A right by name
    // stays possible beside a choice by release, because that choice has none.
    assert_eq!(
        finishers(&fixture),
        [
            "Topic.queue.example:shop/orders Hard deploy:queue/operator by queue.example/topic",
            "Topic.queue.example:shop/orders Yielding deploy:backup/agent by queue.example/topic",
        ]
    );
    let project = unlabelled
        .replace("queue/operator uses", "queue/cert-manager uses")
        .replace("finalizers=queue.example/topic", "finalizers=acme.cert-manager.io/x");
    assert_eq!(
        finishers(&project),
        [
            "Topic.queue.example:shop/orders Hard deploy:queue/cert-manager by acme.cert-manager.io/x"
        ]
    );
}

#[test]
fn only_workload_with_rights_to_everything_in_the_definitions_release_is_chosen() {
    let wide = OPERATOR.replace("updates=topics.queue.example", "updates=*.*");
    assert_eq!(finishers(&wide), finishers(OPERATOR));
    assert_eq!(attributions(&wide), [Attribution::Release]);
    let two = wide.replace("accounts=queue/operator", "accounts=queue/operator,queue/web")
        + "deploy queue/web of=queue uses=account:web";
    assert_eq!(finishers(&two), YIELDING_PAIR);
}

#[test]
fn right_by_name_comes_before_a_rule_for_everything_in_the_definitions_release() {
    let admin = "
        deploy tools/admin of=queue uses=account:admin
        clusterrole all updates=*.*
        crb all accounts=tools/admin role=clusterrole/all
    ";
    let both = format!("{OPERATOR} {admin}");
    assert_eq!(finishers(&both), finishers(OPERATOR));
    assert_eq!(attributions(&both), [Attribution::Release]);
    // An operator of another release than its definition stays possible.
    let apart = both.replace("queue/operator of=queue uses", "queue/operator of=broker uses");
    assert_eq!(
        finishers(&apart),
        [
            "Topic.queue.example:shop/orders Hard deploy:tools/admin by queue.example/topic",
            "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
        ]
    );
}

const YIELDING_PAIR: [&str; 2] = [
    "Topic.queue.example:shop/orders Yielding deploy:queue/operator by queue.example/topic",
    "Topic.queue.example:shop/orders Yielding deploy:queue/web by queue.example/topic",
];

#[test]
fn controller_and_webhook_of_one_release_and_account_are_both_finishers() {
    let both = format!("{OPERATOR} deploy queue/web of=queue uses=account:operator");
    let hard = YIELDING_PAIR.map(|it| it.replace("Yielding", "Hard"));
    assert_eq!(finishers(&both), hard);
    // The definition is often in a folder of its own, without the labels of the release.
    let apart = both.replace("topics.queue.example of=queue", "topics.queue.example");
    assert_eq!(finishers(&apart), hard);
    for namesake in [
        both.replace(" of=queue", ""),
        apart.replace("web of=queue", "web of=other"),
        apart.replace("web of=queue uses=account:operator", "web of=queue uses=account:web")
            + "\n crb web accounts=queue/web role=clusterrole/topics",
    ] {
        assert_eq!(finishers(&namesake), YIELDING_PAIR, "{namesake}");
    }
}

#[test]
fn application_that_shares_its_operators_account_goes_before_its_database() {
    let fixture = format!(
        "{OPERATOR}
         deploy queue/web of=queue uses=account:operator,secret:orders
         secret queue/orders owner=Topic.queue.example/orders"
    )
    .replace("shop/orders", "queue/orders");
    let operator =
        "Topic.queue.example:queue/orders Hard deploy:queue/operator by queue.example/topic";
    assert_eq!(finishers(&fixture), [operator]);
    // The same among those that the right to the status chooses.
    let status = fixture.replace("=topics.", "=topics/status.queue.example,topics.");
    let chosen = format!("{status} {AGENT}")
        .replace("topics.queue.example of=queue", "topics.queue.example");
    assert_eq!(finishers(&chosen), [operator]);
    assert_eq!(attributions(&chosen), [Attribution::Status]);
    // One that has no other beside it is the finisher.
    let alone = fixture.replace("deploy queue/operator of", "cm queue/operator of");
    assert_eq!(
        finishers(&alone),
        ["Topic.queue.example:queue/orders Hard deploy:queue/web by queue.example/topic"]
    );
}

#[test]
fn finisher_of_the_binding_that_gives_its_rights_is_possible_only() {
    let fixture = "
        deploy cattle-system/rancher uses=account:rancher
        clusterrole all updates=*.*
        crb rancher accounts=cattle-system/rancher role=clusterrole/all finalizers=wrangler.cattle.io/auth-prov-v2-crb
    ";
    assert_eq!(
        finishers(fixture),
        [
            "crb:rancher Yielding deploy:cattle-system/rancher by wrangler.cattle.io/auth-prov-v2-crb"
        ]
    );
}

#[test]
fn right_of_all_accounts_of_a_namespace_makes_its_workloads_finishers() {
    let with = |accounts: &str| {
        OPERATOR.replace("accounts=queue/operator", accounts).replace(" of=queue", "")
    };
    assert_eq!(finishers(&with("accounts=queue/*")), finishers(OPERATOR));
    assert_eq!(finishers(&with("accounts=other/*")), [""; 0]);
}

#[test]
fn right_of_every_account_makes_the_only_holder_by_name_possible() {
    let open =
        |accounts: &str| format!("{OPERATOR} {AGENT}").replace("accounts=queue/operator", accounts);
    assert_eq!(
        finishers(&open("accounts=*")),
        finishers_without(RBAC_KINDS[2], &operator_without_rights())
    );
    let other = open("accounts=*").replacen("updates=topics.queue", "updates=topics.other", 1);
    assert_eq!(finishers(&other), finishers(&operator_without_rights()));
}

/// The finishers of a fixture while a kind is hidden.
fn finishers_without(hidden: &str, text: &str) -> Vec<String> {
    let mut index = fixture::index(text);
    index.apply([hide(hidden)], fixture::now());
    finishers_of(&Graph::of(&index))
}

fn hide(resource: &str) -> Observation {
    let (cause, message) = (HiddenCause::Forbidden, "no".into());
    Observation::Hidden { resource: resource.to_owned(), cause, message }
}

const RBAC_KINDS: [&str; 4] = [
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
];

/// An operator whose rights nobody sees, and an agent with a right by name.
fn operator_without_rights() -> String {
    OPERATOR.replace("crb topics", "cm shop/topics") + AGENT
}

#[test]
fn only_visible_holder_of_a_right_is_possible_while_roles_or_bindings_are_hidden() {
    let fixture = operator_without_rights();
    let chosen =
        ["Topic.queue.example:shop/orders Hard deploy:backup/agent by queue.example/topic"];
    assert_eq!(finishers(&fixture), chosen);
    for hidden in RBAC_KINDS {
        assert_eq!(
            finishers_without(hidden, &fixture),
            [
                "Topic.queue.example:shop/orders Hint deploy:queue/operator by queue.example/topic",
                "Topic.queue.example:shop/orders Yielding deploy:backup/agent by queue.example/topic",
            ]
        );
    }
    assert_eq!(finishers_without("configmaps", &fixture), chosen);
    // A role in a namespace gives no right to an object that is in none.
    let of_cluster = fixture.replace("shop/orders", "orders");
    assert_eq!(finishers_without(RBAC_KINDS[0], &of_cluster), finishers(&of_cluster));
    assert_ne!(finishers_without(RBAC_KINDS[2], &of_cluster), finishers(&of_cluster));
}

#[test]
fn choice_by_release_or_project_stands_while_roles_are_hidden() {
    let released = format!("{OPERATOR} {AGENT}");
    assert_eq!(finishers_without(RBAC_KINDS[0], &released), finishers(&released));
    for hidden in RBAC_KINDS {
        assert_eq!(finishers_without(hidden, OPERATOR), finishers(OPERATOR), "{hidden}");
    }
    let open = format!("{OPERATOR} crb open accounts=* role=clusterrole/topics");
    assert_eq!(finishers(&open), finishers(OPERATOR));
    let shipped = operator_without_rights()
        .replace("queue/operator of=queue uses", "queue/cert-manager of=queue uses")
        .replace("finalizers=queue.example/topic", "finalizers=acme.cert-manager.io/x");
    let found = finishers_without(RBAC_KINDS[0], &shipped);
    assert_eq!(
        found,
        [
            "Topic.queue.example:shop/orders Hard deploy:queue/cert-manager by acme.cert-manager.io/x",
            "Topic.queue.example:shop/orders Yielding deploy:backup/agent by acme.cert-manager.io/x",
        ]
    );
}

#[test]
fn finishers_change_at_once_when_roles_become_hidden() {
    let fixture = operator_without_rights();
    let mut index = fixture::index(&fixture);
    let mut graph = Graph::of(&index);
    index.take_changes();
    let visible = Observation::Visible { resource: RBAC_KINDS[0].to_owned() };
    let as_hidden = finishers_without(RBAC_KINDS[0], &fixture);
    for (observation, expected) in
        [(hide(RBAC_KINDS[0]), as_hidden), (visible, finishers(&fixture))]
    {
        index.apply([observation], fixture::now());
        graph.follow(&index, &index.clone().take_changes());
        index.take_changes();
        assert_eq!(finishers_of(&graph), expected);
    }
}

#[test]
fn workloads_of_the_definitions_unit_are_possible_finishers_where_rights_are_unknown() {
    let fixture = OPERATOR.replace("crb topics", "cm shop/topics")
        + "deploy shop/web
           deploy other/web of=other";
    assert_eq!(
        finishers(&fixture),
        ["Topic.queue.example:shop/orders Hint deploy:queue/operator by queue.example/topic"]
    );
}

#[test]
fn owner_of_the_finisher_goes_after_the_object_too() {
    let fixture = OPERATOR.replace(
        "deploy queue/operator",
        "Broker.queue.example queue/main
         deploy queue/operator owner=Broker.queue.example/main",
    );
    assert_eq!(
        finishers(&fixture),
        [
            "Topic.queue.example:shop/orders Hard Broker.queue.example:queue/main by queue.example/topic → operator",
            "Topic.queue.example:shop/orders Hard deploy:queue/operator by queue.example/topic",
        ]
    );
}

#[test]
fn workload_that_mounts_the_object_cannot_finish_it() {
    let fixture = "
        deploy shop/web uses=secret:keys,account:web
        clusterrole secrets updates=secrets
        crb web accounts=shop/web role=clusterrole/secrets
        secret shop/keys finalizers=example.com/keys
        secret shop/other finalizers=example.com/keys
    ";
    assert_eq!(finishers(fixture), ["secret:shop/other Hard deploy:shop/web by example.com/keys"]);
}

#[test]
fn job_and_replica_set_are_no_finishers() {
    let fixture =
        OPERATOR.replace("deploy queue/operator", "job queue/operator").replace(" of=queue", "");
    assert_eq!(finishers(&fixture), [""; 0]);
    let with_set =
        format!("{OPERATOR} rs queue/operator-1 owner=deploy/operator uses=account:operator");
    assert_eq!(finishers(&with_set), finishers(OPERATOR));
}
