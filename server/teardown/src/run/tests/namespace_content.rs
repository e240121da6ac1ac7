//! Tests of the read of a namespace's content just before its DELETE.
//!
//! The weekend stays a loop: the number of its reads counts, and the size of its journal.

use jiff::SignedDuration;

use super::{
    script::{played, transcript},
    *,
};

const SHOP: &str = "ns shop of=shop\n cm shop/a of=shop\n cm shop/kube-root-ca.crt";
/// The namespace alone is left, and was read.
const LAST: &str = "each call
    accepted cm:shop/a
    gone cm shop/a
    there ns:shop";

/// The transcript once the namespace alone is left.
fn with_only_the_namespace(script: &str) -> String {
    let transcript = transcript(SHOP, &format!("{LAST}\n{script}"));
    let (_, end) = transcript.split_once("ConfigMap shop/a is gone\n").unwrap();
    end.to_owned()
}

#[test]
fn namespace_goes_at_the_version_that_was_read_once_its_content_was_read() {
    let made_by_cluster = "content ns:shop: sa shop/default; cm shop/kube-root-ca.crt";
    insta::assert_snapshot!(with_only_the_namespace(made_by_cluster), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > content ns:shop: sa shop/default; cm shop/kube-root-ca.crt
    DELETE Namespace shop at 17
    ");
}

#[test]
fn claim_that_no_watch_has_shown_holds_its_namespace_until_the_next_read() {
    let script = "content ns:shop: pvc shop/new; secret shop/new
        +1";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > content ns:shop: pvc shop/new; secret shop/new
    Namespace shop has PersistentVolumeClaim shop/new in it
    > +1
    GET Namespace shop
    ");
}

#[test]
fn claim_that_the_index_learns_of_during_the_read_holds_its_namespace() {
    let script = "applied pvc shop/new & no content ns:shop";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > applied pvc shop/new & no content ns:shop
    Namespace shop has PersistentVolumeClaim shop/new in it
    ");
}

#[test]
fn rights_of_people_go_with_their_namespace_once_the_index_has_them() {
    // Before that, nobody knows whose rights they are.
    let script = "content ns:shop: rb shop/team role=role/edit people=yes
        applied rb shop/team role=role/edit people=yes & +1
        there ns:shop
        content ns:shop: rb shop/team role=role/edit people=yes";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > content ns:shop: rb shop/team role=role/edit people=yes
    Namespace shop has RoleBinding shop/team in it
    > applied rb shop/team role=role/edit people=yes & +1
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > content ns:shop: rb shop/team role=role/edit people=yes
    DELETE Namespace shop at 17
    ");
}

#[test]
fn role_binding_of_the_accounts_of_another_namespace_does_not_hold_its_own() {
    let script = "applied rb shop/pullers accounts=ci/* & +1
        content ns:shop: rb shop/pullers accounts=ci/*";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > applied rb shop/pullers accounts=ci/* & +1
    > content ns:shop: rb shop/pullers accounts=ci/*
    DELETE Namespace shop at 17
    ");
}

#[test]
fn late_object_of_a_kind_without_the_verb_delete_does_not_hold_its_namespace() {
    let script = "undeletable reports.stats.example & applied Report.stats.example shop/late & no content ns:shop";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > undeletable reports.stats.example & applied Report.stats.example shop/late & no content ns:shop
    DELETE Namespace shop at 17
    ");
}

/// The namespace controller would delete it now, and nobody has confirmed that.
#[test]
fn kept_object_holds_its_namespace_once_its_kind_gets_the_verb_delete() {
    let mut index = fixture::index("ns shop of=shop\n Report.stats.example shop/r of=shop");
    let kinds = [String::from("reports.stats.example")].into();
    index.apply([Observation::Undeletable(kinds)], fixture::now());
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let plan = plan(&index, &graph, unit, &Choices::default(), fixture::now()).unwrap();
    let plan = Arc::new(plan);
    let waits = |index: &Index| {
        let mut run = Run::new(RunId::new("r"), plan.clone());
        run.apply(fixture::now(), &RunEvent::Started { by: "Li".into() }).unwrap();
        let decision =
            run.decide(&Input::Reconcile, index, &Graph::of(index), fixture::now()).unwrap();
        (decision.actions.len(), decision.events.len())
    };
    assert_eq!(waits(&index), (1, 1), "the read before its DELETE");
    index.apply([Observation::Undeletable([].into())], fixture::now());
    assert_eq!(waits(&index), (0, 1), "the namespace waits, and says so");
}

#[test]
fn kind_that_cannot_be_listed_holds_the_namespace_and_is_named() {
    let tries = "cannot list widgets.example.com ns:shop
        until call
        there ns:shop\n";
    let script = format!("{}no content ns:shop", tries.repeat(8));
    insta::assert_snapshot!(with_only_the_namespace(&script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    Namespace shop cannot be told without widgets.example.com in shop
    > until call
    1 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    2 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    4 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    8 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    16 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    32 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    64 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > cannot list widgets.example.com ns:shop
    > until call
    128 s later
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > no content ns:shop
    DELETE Namespace shop at 17
    ");
}

/// The reads of a namespace's content, and the bytes of the journal, of a namespace that is held for 60 hours. Where it is
/// `restless`, an object that goes with the namespace comes and goes all the time.
fn weekend(restless: bool) -> (usize, usize) {
    let (mut scenario, _) = played(SHOP, LAST);
    let unlisted = || Outcome::Unlisted {
        resource: "widgets.example.com".into(),
        message: format!("forbidden: {}", "x".repeat(200)).as_str().into(),
    };
    scenario.answer("ns:shop", unlisted());
    let start = scenario.now;
    let (mut reads, mut bytes, mut is_there) = (0, 0, false);
    while scenario.now.duration_since(start) < SignedDuration::from_hours(60) {
        if restless {
            is_there = !is_there;
            if is_there {
                scenario.applied("sa shop/default");
            } else {
                scenario.gone("sa shop/default");
            }
        }
        let mut open = vec![Input::Reconcile];
        while let Some(input) = open.pop() {
            let decision = scenario.apply_input(&input);
            bytes += decision
                .events
                .iter()
                .map(|it| serde_json::to_vec(it).unwrap().len() + 60)
                .sum::<usize>();
            for action in decision.actions {
                let outcome = match &action {
                    Action::Read { step, .. } => scenario.unchanged(*step),
                    Action::ReadContent { .. } => {
                        reads += 1;
                        unlisted()
                    }
                    action => panic!("{action:?}"),
                };
                open.push(Input::CallCompleted { action, outcome });
            }
        }
        scenario.now = match restless {
            true => scenario.now + SignedDuration::from_secs(2),
            false => scenario.run.wake(&scenario.index, scenario.now).unwrap(),
        };
    }
    (reads, bytes)
}

#[test]
fn namespace_that_is_held_all_weekend_does_not_fill_the_journal() {
    for restless in [false, true] {
        let (reads, bytes) = weekend(restless);
        assert!(bytes < 1_000_000, "{bytes}");
        assert!((300..1_000).contains(&reads), "{reads}");
    }
}

#[test]
fn namespace_that_is_held_is_read_soon_after_something_in_it_went() {
    let tries = "until call
        there ns:shop
        content ns:shop: pvc shop/new\n";
    let held = format!("content ns:shop: pvc shop/new\n {}", tries.repeat(10));
    // The claim is there first, and then it goes.
    let script = format!(
        "{held} +2
        applied pvc shop/new
        +1
        gone pvc shop/new"
    );
    let transcript = with_only_the_namespace(&script);
    let (_, end) = transcript.split_once("> +2\n").unwrap();
    insta::assert_snapshot!(end, @"
    > applied pvc shop/new
    > +1
    > gone pvc shop/new
    GET Namespace shop
    ");
}

#[test]
fn namespace_that_a_person_includes_goes_without_proof_of_the_kind_that_may_not_be_listed() {
    let script = "choose unproven=shop/widgets.example.com
        each call
        pause first
        hidden widgets.example.com & hidden gadgets.example.com
        resume
        accepted cm:shop/a
        gone cm shop/a
        visible gadgets.example.com
        there ns:shop
        no content but widgets.example.com ns:shop
        look at ns:shop
        accepted ns:shop
        gone ns shop
        look at ns:shop";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > choose unproven=shop/widgets.example.com
    > each call
    > pause first
    > hidden widgets.example.com & hidden gadgets.example.com
    > resume
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > gone cm shop/a
    ConfigMap shop/a is gone
    Namespace shop cannot be told without gadgets.example.com
    > visible gadgets.example.com
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > no content but widgets.example.com ns:shop
    DELETE Namespace shop at 17
    > look at ns:shop
    Namespace shop is requested, deleted without proof of widgets.example.com
    > accepted ns:shop
    > gone ns shop
    Namespace shop is gone
    the run has finished
    > look at ns:shop
    Namespace shop is gone, deleted without proof of widgets.example.com
    ");
}

#[test]
fn kind_whose_api_is_down_holds_a_namespace_that_a_person_includes() {
    let script = "choose unproven=shop/widgets.example.com
        pause first
        undiscovered widgets.example.com
        resume
        accepted cm:shop/a
        gone cm shop/a";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > choose unproven=shop/widgets.example.com
    > pause first
    > undiscovered widgets.example.com
    > resume
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > gone cm shop/a
    ConfigMap shop/a is gone
    Namespace shop cannot be told without widgets.example.com
    ");
}

#[test]
fn read_of_content_is_no_more_than_a_read_while_the_run_is_paused() {
    let script = "pause
        no content ns:shop
        resume";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > pause
    > no content ns:shop
    > resume
    GET Namespace shop
    ");
}

#[test]
fn restart_during_the_read_of_content_reads_the_namespace_again() {
    // No DELETE was on its way.
    let script = "restart & look at ns:shop";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > restart & look at ns:shop
    Namespace shop is waiting
    GET Namespace shop
    ");
}

/// The namespace is refused, and what comes into it or goes has nothing to do with that.
#[test]
fn refused_namespace_is_not_tried_early_because_its_content_changed() {
    let script = "no content ns:shop
        +2
        refused ns:shop
        +5 & applied cm shop/late & gone cm shop/late
        until call";
    insta::assert_snapshot!(with_only_the_namespace(script), @"
    GET Namespace shop
    > there ns:shop
    LIST everything in shop at 17
    > no content ns:shop
    DELETE Namespace shop at 17
    > +2
    > refused ns:shop
    Namespace shop was refused: 403
    > +5 & applied cm shop/late & gone cm shop/late
    > until call
    15 s later
    GET Namespace shop
    ");
}

/// It stays because people have it, and the plan says that it goes with the namespace.
#[test]
fn object_that_the_plan_keeps_does_not_hold_its_namespace() {
    let cluster = "
        ns shop of=shop
        cm shop/a of=shop
        role shop/team
        rb shop/team people=yes role=role/team";
    insta::assert_snapshot!(transcript(cluster, "gone cm shop/a"), @"
    DELETE ConfigMap shop/a
    > gone cm shop/a
    ConfigMap shop/a is gone
    DELETE Namespace shop
    ");
    let script = "applied secret shop/late & gone cm shop/a";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/a
    > applied secret shop/late & gone cm shop/a
    ConfigMap shop/a is gone
    Namespace shop has Secret shop/late in it
    ");
}
