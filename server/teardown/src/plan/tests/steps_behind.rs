use super::*;

/// Each step with the number of steps behind it.
fn steps_behind(fixture: &str, unit: &str) -> String {
    let plan = plan_of(fixture, unit).unwrap();
    let lines = plan.steps.iter().zip(plan.steps_behind());
    lines.map(|(step, steps)| format!("{steps} {}", step.uid)).collect::<Vec<_>>().join("\n")
}

#[test]
fn steps_behind_a_step_are_those_of_the_longest_path() {
    insta::assert_snapshot!(steps_behind(CONSORTIUM, "consortium"), @r"
    4 sts:org1/couch
    6 hpa:org1/peer
    6 ing:org1/peer
    3 pod:org1/couch-0
    5 deploy:org1/peer
    1 pvc:org1/data-couch-0
    4 rs:org1/peer-1
    0 pv:pv-couch
    3 pod:org1/peer-1-a
    1 cm:org1/core
    1 pvc:org1/ledger
    1 svc:org1/peer
    1 sa:org1/peer
    1 netpol:org1/peer
    2 rb:org1/peer
    1 role:org1/peer
    0 ns:org1
    ");
}
