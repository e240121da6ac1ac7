use serde_json::json;

use super::*;

fn suspend_action() -> Action {
    let patch = json!([{"op": "test", "path": "/metadata/uid", "value": "u-1"}]);
    Action::Suspend { step: StepId(1), target: deployment(), patch }
}

async fn refused(code: u16, message: &str) -> Outcome {
    answered(suspend_action(), code, &status(code, "Invalid", message, "{}")).await
}

#[tokio::test]
async fn suspension_is_a_json_patch_of_the_object() {
    let (client, log) = fake::client(|_| now(200, "{}"));
    assert_eq!(called(&client, &suspend_action()).await, Outcome::Suspended);
    let Seen { method, path, body, .. } = log.lock().unwrap()[0].clone();
    let expected = ("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web");
    assert_eq!((method.as_str(), path.as_str()), expected);
    assert_eq!(body, r#"[{"op":"test","path":"/metadata/uid","value":"u-1"}]"#);
}

/// A policy denies with 422 unless it names another reason, and a webhook chooses its code.
#[tokio::test]
async fn failed_test_of_a_suspension_is_a_change_and_a_denial_with_its_code_is_a_refusal() {
    let unfit = "the server rejected our request due to an error in our request";
    assert_eq!(refused(422, unfit).await, Outcome::Changed { message: unfit.into() });
    let policy = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: no";
    let webhook = "admission webhook \"deny.example.com\" denied the request: no";
    let invalid = "Deployment.apps \"web\" is invalid: spec.interval: Required value";
    for (code, said) in [(422, policy), (409, webhook), (422, invalid)] {
        assert_eq!(refused(code, said).await, Outcome::Refused { code, message: said.into() });
    }
    let busy = "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified; please apply your changes to the latest version and try again";
    let outcome = refused(409, busy).await;
    assert!(matches!(outcome, Outcome::Unanswered { .. }), "{outcome:?}");
}
