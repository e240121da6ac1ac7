//! The explanations on the pages of a run and of a plan: how it is known that an object is gone, who created one again,
//! which order is not kept, and what a stopped run left suspended.

use teardown::{
    message::StepCard,
    object::ObjectRef,
    plan::GivenUp,
    proof::Proof,
    run::{Creator, LeftSuspended, RunState, StepProblem},
};

use super::*;

fn object(group: &str, kind: &str, name: &str) -> ObjectRef {
    let namespace = Some("shop".into());
    ObjectRef { group: group.into(), kind: kind.into(), namespace, name: name.into() }
}

/// The cards of the steps among records, in the order of the steps.
fn steps(records: &mut [Record]) -> impl Iterator<Item = &mut StepCard> {
    records.iter_mut().filter_map(|record| match record {
        Record::Step(card) => Some(card),
        _ => None,
    })
}

#[test]
fn step_that_is_gone_says_how_that_is_known() {
    let proofs = [
        (Proof::DeletedEvent, "The watch reported its deletion"),
        (Proof::List, "A complete list no longer has it"),
        (Proof::NotFound, "The API server answered 404"),
        (Proof::OtherUid, "Another object has its name"),
        (Proof::KindGone, "The definition of its kind is gone"),
        (Proof::NamespaceGone, "Its namespace is gone"),
    ];
    let mut ids = vec![];
    let seed = with_records(consortium::run(), |records| {
        let gone = steps(records).filter(|card| card.gone.is_some());
        for (card, (proof, _)) in gone.zip(proofs) {
            card.proof = Some(proof);
            ids.push(card.id);
        }
    });
    let html = render("run-proofs", "/r/7", seed);
    check(&html);
    assert_eq!(ids.len(), proofs.len());
    for (id, (_, said)) in ids.into_iter().zip(proofs) {
        let row = html.split(&format!("id=\"step-{id}\"")).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        assert!(row.contains(&format!("title=\"{said}\"")), "{said}: {row}");
        // A title is read out by no screen reader.
        assert!(row.contains(&format!("<span class=\"visually-hidden\">{said}")), "{said}: {row}");
    }
    let (open, _) = html.split_once("<details class=\"steps-gone\"").unwrap();
    assert!(proofs.iter().all(|(_, said)| !open.contains(said)), "what is not gone has no proof");
}

#[test]
fn step_that_came_back_says_who_created_it_again() {
    let owner = object("apps", "ReplicaSet", "web-1");
    for (creator, who) in [
        (Some(Creator::Owner(owner)), "ReplicaSet shop/web-1"),
        (Some(Creator::Manager("helm".to_owned())), "helm"),
        (None, "Something"),
    ] {
        let seed = with_records(consortium::run(), |records| {
            for card in steps(records) {
                if let Some(StepProblem::CameBack { by, .. }) = &mut card.problem {
                    *by = creator.clone();
                }
            }
        });
        let html = render("run-came-back", "/r/7", seed);
        check(&html);
        let uid = "metadata.uid is now 0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f";
        let mut cards = html.split("<li class=\"attention-card\"").skip(1);
        let card = cards.find(|card| card.contains(uid)).unwrap();
        let said = format!(
            "{who} created it again under the same name. This run does not touch the new object."
        );
        assert!(card.contains(&format!("<p class=\"attention-cause\">{said}")), "{card}");
        assert!(card.contains("Otherwise stop it"), "{card}");
    }
}

#[test]
fn order_that_a_plan_gives_up_is_on_its_page_with_the_reason() {
    let title = "id=\"given-up-title\"";
    let html = render("plan-in-order", PLAN, consortium::planned());
    assert!(!html.contains(title), "nothing is given up");
    let mut seed = consortium::planned();
    seed.plan.as_mut().unwrap().given_up = vec![GivenUp {
        first: object("apps", "Deployment", "web"),
        then: object("autoscaling", "HorizontalPodAutoscaler", "web"),
        edge: EdgeKind::Owns,
        reason: Reason {
            field: "metadata.ownerReferences[0]".into(),
            value: "Deployment web".into(),
            attribution: None,
        },
    }];
    let html = render("plan-given-up", PLAN, seed);
    check(&html);
    let (_, section) = html.split_once(title).unwrap();
    let section = section.split("</section>").next().unwrap();
    assert_eq!(section.matches("<li").count(), 1, "{section}");
    for said in [
        "Order that is not kept",
        "A stronger reason goes the other way.",
        "Deployment shop/web before HorizontalPodAutoscaler shop/web",
        "<span class=\"quote\">metadata.ownerReferences[0] = Deployment web",
    ] {
        assert!(section.contains(said), "{said}: {section}");
    }
}

const LEFT: &str = "This run suspended these before it was stopped";

/// The page of a stopped run that left parents in these states.
fn stopped(left: &[LeftSuspended]) -> String {
    let seed = with_records(consortium::run(), |records| {
        for (number, (card, state)) in steps(records).zip(left).enumerate() {
            let name = format!("parent-{number}");
            card.object = object("kustomize.toolkit.fluxcd.io", "Kustomization", &name);
            card.left_suspended = Some(*state);
        }
        for record in records {
            if let Record::Run(card) = record {
                card.state = RunState::Stopped;
                card.ended = Some(card.started);
            }
        }
    });
    let html = render("run-left-suspended", "/r/7", seed);
    check(&html);
    // Marks between two pieces of text.
    html.replace("<!>", "")
}

#[test]
fn stopped_run_lists_the_parents_that_it_left_suspended_and_how_they_are_now() {
    let states = [
        (LeftSuspended::Active, "active again; somebody changed it"),
        (LeftSuspended::Going, "being deleted"),
        (LeftSuspended::Gone, "gone"),
        (LeftSuspended::Unknown, "not known: it cannot be seen"),
    ];
    let html = stopped(&states.map(|(state, _)| state));
    let (_, list) = html.split_once(LEFT).unwrap();
    let (list, _) = list.split_once("</ul>").unwrap();
    assert_eq!(list.matches("<li>").count(), states.len(), "{list}");
    for (number, (_, said)) in states.iter().enumerate() {
        let row = format!("<li>Kustomization shop/parent-{number}: {said}</li>");
        assert!(list.contains(&row), "{row}: {list}");
    }
    assert!(!stopped(&[]).contains(LEFT), "nothing was left");
    // Every page has these in one banner, with the page that puts them back.
    assert!(!stopped(&[LeftSuspended::Suspended]).contains(LEFT), "it stands there twice");
}
