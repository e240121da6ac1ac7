//! The plan of the consortium.

use teardown::{
    message::{Membership, ObjectCard},
    object::{Kind, Reclaim, Uid},
    plan::{
        Blocker, BlockingEdge, Choices, DataFate, Fate, Kept, Plan, PlanId, Propagation, Step,
        StepAction, StepId,
    },
    relation::{DeletionPhase, EdgeKind},
    unit::UnitId,
};

use super::{World, before, world};

pub(super) fn steps(world: &World) -> Vec<Step> {
    let mut cards: Vec<&ObjectCard> = world
        .objects
        .iter()
        .filter(|card| card.wave.is_some() && card.membership == Membership::Member)
        .collect();
    cards.sort_by(|a, b| (a.wave, &a.uid).cmp(&(b.wave, &b.uid)));
    let number =
        |uid: &Uid| cards.iter().position(|card| card.uid == *uid).map(|at| StepId(at as u32));
    cards
        .iter()
        .enumerate()
        .map(|(at, card)| {
            let mut after: Vec<Blocker> = world
                .edges
                .iter()
                .filter_map(|edge| {
                    let other = if edge.to == card.uid { &edge.from } else { &edge.to };
                    let other_card = world.objects.iter().find(|one| one.uid == *other)?;
                    let concerns = edge.to == card.uid || edge.from == card.uid;
                    (concerns && other_card.wave? < card.wave?).then_some(())?;
                    let on_first = edge.from == *other;
                    Some(Blocker {
                        step: number(other)?,
                        phase: DeletionPhase::Gone,
                        edges: vec![BlockingEdge {
                            kind: edge.kind,
                            strength: edge.strength,
                            on_first,
                            reason: edge.reason.clone(),
                        }],
                    })
                })
                .collect();
            after.sort_by_key(|blocker| blocker.step);
            let waits = &*card.object.kind == "Pod";
            Step {
                id: StepId(at as u32),
                uid: card.uid.clone(),
                object: card.object.clone(),
                kind: Kind {
                    group: card.object.group.clone(),
                    kind: card.object.kind.clone(),
                    version: "v1".into(),
                    plural: format!("{}s", card.object.kind.to_lowercase()).into(),
                    namespaced: card.object.namespace.is_some(),
                },
                action: if waits {
                    StepAction::Await
                } else {
                    StepAction::Delete { propagation: Propagation::Background }
                },
                wave: card.wave.unwrap(),
                after,
                finalizers: card.finalizers.clone(),
                pods: None,
                holds_storage: false,
                node: None,
                named: None,
                named_by: None,
                unproven: vec![],
            }
        })
        .collect()
}

pub(super) fn plan() -> Plan {
    let world = world();
    let kept = world
        .objects
        .iter()
        .filter_map(|card| match &card.membership {
            Membership::Kept(reason) => Some(Kept {
                uid: card.uid.clone(),
                object: card.object.clone(),
                reason: reason.clone(),
            }),
            Membership::Member | Membership::Outside => None,
        })
        .collect();
    let data = world
        .edges
        .iter()
        .filter(|edge| edge.kind == EdgeKind::Binds)
        .map(|edge| {
            let find = |uid: &Uid| world.objects.iter().find(|card| card.uid == *uid).unwrap();
            let retained = matches!(find(&edge.to).membership, Membership::Kept(_));
            DataFate {
                volume: find(&edge.to).object.clone(),
                claim: Some(find(&edge.from).object.clone()),
                capacity: Some("40Gi".to_owned()),
                source: Some("csi ebs.csi.aws.com vol-0a1b2c3d4e5f".to_owned()),
                reclaim: Some(if retained { Reclaim::Retain } else { Reclaim::Delete }),
                fate: if retained { Fate::LeftBehind } else { Fate::Destroyed },
                deleted_by: None,
            }
        })
        .collect();
    Plan {
        id: PlanId::new("1f3a5c7e9b2d4f60"),
        hash: "1f3a5c7e9b2d4f60".repeat(4),
        unit: UnitId::new("consortium"),
        choices: Choices::default(),
        made: before(40),
        steps: steps(&world),
        kept,
        left_to_cluster: vec![],
        by_name: vec![],
        ephemeral: vec![],
        given_up: vec![],
        data,
        unlistable: vec![],
        waived: vec![],
        losses: vec![],
        waivable: vec![],
        hidden: vec!["pods.metrics.k8s.io".to_owned()],
    }
}
