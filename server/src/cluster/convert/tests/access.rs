//! The subjects of bindings, and aggregated roles.

use super::*;

#[test]
fn binding_keeps_accounts_that_it_names_as_users_or_groups() {
    let subjects = |subjects: &str| {
        let rest = format!(
            r#""roleRef": {{"kind": "ClusterRole", "name": "x"}}, "subjects": [{subjects}]"#
        );
        let read = read("rbac.authorization.k8s.io/v1 ClusterRoleBinding", &rest);
        let Facts::Binding(binding) = read.facts else { panic!() };
        binding
    };
    let named = subjects(
        r#"{"kind": "User", "name": "system:serviceaccount:queue:operator"},
           {"kind": "Group", "name": "system:serviceaccounts:shop"},
           {"kind": "Group", "name": "system:serviceaccounts"}"#,
    );
    assert_eq!(*named.accounts, [("queue".into(), "operator".into())]);
    assert_eq!(*named.account_namespaces, ["shop".into()]);
    assert!(named.all_accounts && !named.people);
    for namesake in [
        r#"{"kind": "Group", "name": "system:serviceaccount:queue:operator"}"#,
        r#"{"kind": "User", "name": "system:serviceaccounts:shop"}"#,
        r#"{"kind": "User", "name": "system:serviceaccount:queue"}"#,
        r#"{"kind": "User", "name": "system:serviceaccount:queue:a:b"}"#,
        r#"{"kind": "Group", "name": "system:serviceaccounts:"}"#,
        r#"{"kind": "Group", "name": "system:authenticated"}"#,
    ] {
        let binding = subjects(namesake);
        assert!(binding.people && !binding.all_accounts, "{namesake}");
        assert!(binding.accounts.is_empty() && binding.account_namespaces.is_empty(), "{namesake}");
    }
}

#[test]
fn role_keeps_the_labels_by_which_it_collects_others() {
    let aggregated = |rest: &str| {
        let read = read("rbac.authorization.k8s.io/v1 ClusterRole", rest);
        let Facts::Role(role) = read.facts else { panic!() };
        role.aggregates.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let rule = r#""aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}]}"#;
    assert_eq!(aggregated(rule), ["a=b", "c=d"]);
    for none in
        ["", r#""aggregationRule": null"#, r#""aggregationRule": {"clusterRoleSelectors": null}"#]
    {
        assert!(aggregated(none).is_empty(), "{none}");
    }
}
