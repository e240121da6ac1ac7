//! From records to a graph: which lane an object is drawn in, and which end of an edge is in front.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use teardown::{
    message::{EdgeCard, Membership, ObjectCard},
    object::Uid,
    relation::EdgeKind,
};

use super::scene::{self, Records};
use crate::layout::{self, Graph, Layout, Node};

/// A card's width.
pub const WIDTH: f64 = 228.0;
/// A card's height.
pub const HEIGHT: f64 = 54.0;

/// Where an object is drawn. The order of the variants is the order from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// With its namespace.
    Namespace(Arc<str>),
    /// With what has no namespace.
    Cluster,
    /// With what is not part of the unit.
    Outside,
}

impl Lane {
    /// The lane of an object.
    pub fn of(card: &ObjectCard) -> Self {
        if card.membership == Membership::Outside {
            return Self::Outside;
        }
        match (&card.object.namespace, is_namespace(card)) {
            (Some(namespace), _) => Self::Namespace(namespace.clone()),
            (None, true) => Self::Namespace(card.object.name.clone()),
            (None, false) => Self::Cluster,
        }
    }

    fn group(&self) -> Arc<str> {
        match self {
            Self::Namespace(name) => format!("1/{name}").into(),
            Self::Cluster => "2/".into(),
            Self::Outside => "3/".into(),
        }
    }

    fn of_group(group: &str) -> Self {
        match group.split_once('/') {
            Some(("1", name)) => Self::Namespace(name.into()),
            Some(("2", _)) => Self::Cluster,
            _ => Self::Outside,
        }
    }
}

/// Everything that decides the positions: as long as it is equal, nothing moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// The graph, keyed by UID.
    pub graph: Graph,
    /// The namespaces' own objects, which are drawn as their lanes' headings.
    pub heads: BTreeMap<Arc<str>, Uid>,
    /// The edges between drawn objects, by their ends from left to right.
    pub edges: Vec<Arrow>,
}

/// An edge to be drawn, from the end that goes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// The end that goes first.
    pub first: Uid,
    /// The end that goes later.
    pub later: Uid,
    /// The edge itself.
    pub edge: EdgeCard,
}

/// A structure with its positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// The objects and edges.
    pub structure: Structure,
    /// Their positions.
    pub layout: Layout,
    /// The lanes, as the layout has them.
    pub lanes: Vec<(Lane, layout::Area)>,
}

impl Structure {
    /// The structure of a topic's records.
    pub fn of(records: &Records) -> Self {
        let cards: HashMap<&Uid, &ObjectCard> =
            scene::objects(records).map(|card| (&card.uid, card)).collect();
        let mut structure = Self::default();
        let mut at: HashMap<&Uid, usize> = HashMap::new();
        // Records are kept by key, so the objects come by UID.
        for card in scene::objects(records) {
            if is_namespace(card) && card.membership != Membership::Outside {
                structure.heads.insert(card.object.name.clone(), card.uid.clone());
                if drawn_alone(card, &cards) {
                    at.insert(&card.uid, structure.push(card));
                }
                continue;
            }
            at.insert(&card.uid, structure.push(card));
        }
        for edge in scene::edges(records) {
            if edge.kind == EdgeKind::Contains {
                continue;
            }
            let (Some(from), Some(to)) = (cards.get(&edge.from), cards.get(&edge.to)) else {
                continue;
            };
            let (first, later) =
                if source_goes_first(edge, from, to) { (from, to) } else { (to, from) };
            let (Some(a), Some(b)) = (at.get(&first.uid), at.get(&later.uid)) else { continue };
            structure.graph.edges.push((*a, *b));
            structure.edges.push(Arrow {
                first: first.uid.clone(),
                later: later.uid.clone(),
                edge: edge.clone(),
            });
        }
        structure
    }

    fn push(&mut self, card: &ObjectCard) -> usize {
        // Kind and name come first in the key, so that equal cells are in an order a person would choose.
        let key = format!("{}/{}/{}", card.object.kind, card.object.name, card.uid);
        self.graph.nodes.push(Node {
            key: key.into(),
            group: Lane::of(card).group(),
            width: WIDTH,
            height: HEIGHT,
        });
        self.graph.nodes.len() - 1
    }
}

impl Drawing {
    /// Places a structure; what a previous drawing already shows stays where it was.
    pub fn of(structure: Structure, previous: Option<&Self>) -> Self {
        let layout = layout::layout(&structure.graph, previous.map(|previous| &previous.layout));
        let lanes =
            layout.lanes.iter().map(|lane| (Lane::of_group(&lane.group), lane.area)).collect();
        Self { structure, layout, lanes }
    }

    /// Objects with their places, by kind and name.
    pub fn places(&self) -> impl Iterator<Item = (Uid, layout::Place)> {
        self.layout.nodes.iter().map(|(key, place)| (uid_of(key), *place))
    }
}

/// The UID at the end of a node's key.
pub fn uid_of(key: &str) -> Uid {
    Uid::new(key.rsplit_once('/').map_or(key, |(_, uid)| uid))
}

fn is_namespace(card: &ObjectCard) -> bool {
    &*card.object.kind == "Namespace" && card.object.group.is_empty()
}

/// Whether a namespace is all that is left of its lane; then it needs a card of its own to be seen.
fn drawn_alone(namespace: &ObjectCard, cards: &HashMap<&Uid, &ObjectCard>) -> bool {
    !cards.values().any(|card| {
        card.membership != Membership::Outside
            && card.object.namespace.as_ref() == Some(&namespace.object.name)
    })
}

/// Waves decide where both ends have one; otherwise an owner is in front of what it owns, and else a user is in front of
/// what it uses.
pub fn source_goes_first(edge: &EdgeCard, from: &ObjectCard, to: &ObjectCard) -> bool {
    match (from.wave, to.wave) {
        (Some(from), Some(to)) if from != to => from < to,
        _ => edge.kind != EdgeKind::Owns,
    }
}
