//! The order of the cards of diagnoses, and of the objects that are not late.

use teardown::{
    message::{DiagnosisCard, ObjectCard},
    object::Uid,
};

use crate::{
    navigation::address::{BY_AGE, BY_NAMESPACE},
    state::scene::{self, Records},
    text,
};

/// The ids of all diagnoses: in each order those that explain others first, then those that do harm, then those with the most objects;
/// or by another order ([`BY_AGE`], [`BY_NAMESPACE`]). In that by namespace a [`HEADING`] with its names comes before the first of each
/// group of those that explain none.
pub(super) fn ordered(records: &Records, order: Option<&str>) -> Vec<String> {
    let by_age = order == Some(BY_AGE);
    let by_namespace = order == Some(BY_NAMESPACE);
    // Few cards are put in their places without `sort`, which is compiled in part for each type.
    let mut cards: Vec<&DiagnosisCard> = Vec::new();
    for card in scene::diagnoses(records) {
        let place = cards.partition_point(|other| {
            if other.explains != card.explains {
                other.explains
            } else if by_namespace && !card.explains && other.namespaces != card.namespaces {
                other.namespaces < card.namespaces
            } else if by_age {
                other.diagnosis.since <= card.diagnosis.since
            } else {
                other.harm() >= card.harm()
            }
        });
        cards.insert(place, card);
    }
    let mut ids = Vec::new();
    let mut group = None;
    for card in cards {
        if by_namespace && !card.explains && group != Some(&card.namespaces) {
            ids.push(format!("{HEADING}{}", text::in_namespaces(&card.namespaces)));
            group = Some(&card.namespaces);
        }
        ids.push(card.diagnosis.id.clone());
    }
    ids
}

/// The first character of a heading among the ids of diagnoses. An id begins with the name of a cause.
pub(super) const HEADING: char = '#';

/// The objects of the page of trouble that are being deleted and are within their expected time, those that become late first.
pub(super) fn in_time(records: &Records) -> Vec<Uid> {
    let mut cards: Vec<&ObjectCard> = Vec::new();
    for card in scene::objects(records) {
        let place = cards.partition_point(|other| other.due <= card.due);
        cards.insert(place, card);
    }
    cards.into_iter().map(|card| card.uid.clone()).collect()
}
