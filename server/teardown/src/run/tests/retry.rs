//! Tests of when a call is repeated.

use super::script::{endings, transcript};

const MAP: &str = "cm shop/a of=shop";

/// The limit is lower while the effect of a DELETE is unknown, because a run cannot be stopped then.
#[test]
fn retry_after_is_respected_within_limits() {
    let answers = ["silent", "throttled"];
    let seconds = [0, 9, 600, 86_400];
    let cells =
        answers.iter().flat_map(|it| seconds.map(|after| format!("{it} {after} cm:shop/a")));
    insta::assert_snapshot!(endings(MAP, cells, |answer| format!("{answer}\n until call")), @"
    silent 0 cm:shop/a
        1 s later
        GET ConfigMap shop/a
    silent 9 cm:shop/a
        9 s later
        GET ConfigMap shop/a
    silent 600 cm:shop/a
        120 s later
        GET ConfigMap shop/a
    silent 86400 cm:shop/a
        120 s later
        GET ConfigMap shop/a
    throttled 0 cm:shop/a
        1 s later
        DELETE ConfigMap shop/a
    throttled 9 cm:shop/a
        9 s later
        DELETE ConfigMap shop/a
    throttled 600 cm:shop/a
        600 s later
        DELETE ConfigMap shop/a
    throttled 86400 cm:shop/a
        3600 s later
        DELETE ConfigMap shop/a
    ");
}

#[test]
fn resumed_run_retries_before_retry_after_has_passed() {
    let script = "throttled 3600 cm:shop/a
        pause
        resume";
    insta::assert_snapshot!(transcript(MAP, script), @"
    DELETE ConfigMap shop/a
    > throttled 3600 cm:shop/a
    ConfigMap shop/a is tried again after try 1
    > pause
    > resume
    DELETE ConfigMap shop/a
    ");
}
