use super::*;

#[test]
fn nothing_is_said_to_be_well_where_it_cannot_be_seen() {
    assert_eq!(harm(&Impact::default()), [NO_HARM]);
    let unseen = Impact { unseen: Some("services".into()), ..Impact::default() };
    let said = harm(&unseen).join(" ");
    assert!(said.contains("cannot see services") && !said.contains(NO_HARM), "{said}");
    let pod = ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "db".into(),
    };
    let said = harm(&Impact { losing_claim: vec![pod], ..unseen }).join(" ");
    assert!(said.contains("runs on a claim that is being deleted"), "{said}");
    assert!(said.contains("There may be more"), "{said}");
}
