//! The parts of a plan that a person confirms one by one.

use super::*;

#[test]
fn each_part_that_nobody_confirmed_is_named() {
    let fixture = "
        ns shop of=shop
        pod shop/web of=shop node=n1 uses=claim:data
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data reclaim=Delete
    ";
    let choices = ["unproven=shop/widgets.example.com", "unreported=n1"];
    let plan = plan_with(fixture, "shop", &choices).unwrap();
    let (all, none) = (plan.parts(), Parts::default());
    insta::assert_snapshot!(
        serde_json::to_string(&all).unwrap(),
        @r#"{"destroys":["PersistentVolumeClaim/shop/data"],"unproven":["shop/widgets.example.com"],"unreported":["n1"],"waived":[]}"#
    );
    assert_eq!(all.destroys[0].to_string(), "PersistentVolumeClaim/shop/data");
    assert_eq!(plan.check_confirmed(&all), Ok(()));
    assert_eq!(plan.check_confirmed(&none), Err(all.clone()));
    let Parts { destroys, unproven, unreported, waived: _ } = all.clone();
    for missing in [
        Parts { destroys, ..none.clone() },
        Parts { unproven, ..none.clone() },
        Parts { unreported, ..none.clone() },
    ] {
        let mut confirmed = all.clone();
        confirmed.destroys.retain(|it| !missing.destroys.contains(it));
        confirmed.unproven.retain(|it| !missing.unproven.contains(it));
        confirmed.unreported.retain(|it| !missing.unreported.contains(it));
        assert_eq!(plan.check_confirmed(&confirmed), Err(missing));
    }
}
