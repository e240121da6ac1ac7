use super::*;

/// Each step with the number of steps behind it.
fn steps_behind(fixture: &str, unit: &str) -> String {
    let plan = plan_of(fixture, unit).unwrap();
    let lines = plan.steps.iter().zip(plan.steps_behind());
    lines.map(|(step, steps)| format!("{steps} {}", step.uid)).collect::<Vec<_>>().join("\n")
}

#[test]
fn steps_behind_a_step_are_those_of_the_longest_path() {
    insta::assert_snapshot!(steps_behind(CONSORTIUM, "consortium"), @"");
    insta::assert_snapshot!(steps_behind(STORAGE, "shop"), @"");
}
