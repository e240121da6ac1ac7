//! Everything known of the selected object.

use leptos::prelude::*;
use teardown::{
    message::{EdgeCard, Membership, ObjectCard, State},
    object::{ObjectRef, Uid},
    relation::{DeletionPhase, EdgeKind},
};

use crate::{
    navigation::address::Address,
    sort::sort,
    state::{
        keyboard::is_command,
        scene::{self, Scene},
    },
    text,
    view::{
        diagnosis::cause_of,
        icon::icon,
        moment::moment,
        node_health::node_health,
        object_name::{object_name, object_name_whole},
        run::attention::needs_attention,
        state_badge::state_badge,
    },
};

/// Edges listed before the rest is folded away.
const LISTED: usize = 12;

/// The drawer; nothing where nothing is selected.
#[component]
pub fn Drawer(
    /// The page's records.
    scene: Scene,
    /// The page's address.
    address: Address,
) -> impl IntoView {
    let card: Memo<Option<Option<ObjectCard>>> = Memo::new(move |_| {
        let selected = address.selected.get()?;
        // An object that comes or goes has another signal.
        scene.read_members(|_| ());
        Some(scene.object(&selected).map(|card| card.get()))
    });
    let body = move || {
        let shown = card.get()?;
        let inside = match shown {
            None => view! { <p class="quiet">{text::SELECTED_GONE}</p> }.into_any(),
            Some(card) => {
                let edges = scene.read_members(|records| edges_of(records, &card.uid));
                details(&card, &edges, scene, address)
            }
        };
        Some(view! {
            <aside class="drawer" aria-label=text::DETAILS>
                <a class="tool drawer-close" href=move || address.to_nothing() aria-label=text::CLOSE title=text::CLOSE
                    data-noscroll="noscroll">{icon("icon-close")}</a>
                {inside}
            </aside>
        }.into_any())
    };
    Effect::new(move |_| {
        let listener = window_event_listener(leptos::ev::keydown, move |event| {
            let selected = address.selected.get_untracked();
            let open = document().query_selector("dialog[open]").ok().flatten().is_some();
            match event.key().as_str() {
                "Escape" if !open && selected.is_some() => address.select(None),
                key @ ("n" | "p") if is_command(&event) => {
                    if let Some(uid) = in_trouble(scene, selected.as_ref(), key == "n") {
                        address.select(Some(&uid));
                    }
                }
                _ => {}
            }
        });
        on_cleanup(move || listener.remove());
    });
    view! { {move || body()} }
}

/// The object in trouble after, or before, the selected one; worst first, and round.
fn in_trouble(scene: Scene, selected: Option<&Uid>, forwards: bool) -> Option<Uid> {
    let mut cards: Vec<(State, Uid)> = untrack(|| {
        scene.read(|records| {
            let found = scene::objects(records).filter(|card| needs_attention(card.state));
            found.map(|card| (card.state, card.uid.clone())).collect()
        })
    });
    sort(&mut cards, |a, b| (b.0.severity(), &a.1).cmp(&(a.0.severity(), &b.1)));
    let last = cards.len().checked_sub(1)?;
    let at = cards.iter().position(|(_, uid)| Some(uid) == selected);
    let next = match (at, forwards) {
        (None, true) => 0,
        (None, false) => last,
        (Some(at), true) => {
            if at == last {
                0
            } else {
                at + 1
            }
        }
        (Some(at), false) => at.checked_sub(1).unwrap_or(last),
    };
    cards.into_iter().nth(next).map(|(_, uid)| uid)
}

/// An edge as seen from one end: the other end, and whether this end is the source.
#[derive(Clone)]
struct Seen {
    edge: EdgeCard,
    other: ObjectRef,
    other_uid: Uid,
    from_here: bool,
    /// Whether the other end goes first; `None` where a plan puts the two in no order.
    other_first: Option<bool>,
}

fn edges_of(records: &scene::Records, uid: &Uid) -> Vec<Seen> {
    let cards: std::collections::HashMap<&Uid, &ObjectCard> =
        scene::objects(records).map(|card| (&card.uid, card)).collect();
    scene::edges(records)
        .filter(|edge| edge.from == *uid || edge.to == *uid)
        .filter_map(|edge| {
            let (from, to) = (cards.get(&edge.from)?, cards.get(&edge.to)?);
            let from_here = edge.from == *uid;
            let other = if from_here { to } else { from };
            // Only objects that a plan deletes go before or after others: a Pod does not go before its node.
            let source_first = match (from.wave, to.wave) {
                (Some(first), Some(second)) if first != second => Some(first < second),
                _ => None,
            };
            Some(Seen {
                edge: edge.clone(),
                other: other.object.clone(),
                other_uid: other.uid.clone(),
                from_here,
                other_first: source_first.map(|source_first| source_first != from_here),
            })
        })
        .collect()
}

fn details(card: &ObjectCard, edges: &[Seen], scene: Scene, address: Address) -> AnyView {
    let cause = card.deletion.map(|_| cause_of(scene, card.uid.clone()));
    let part = |first: Option<bool>| -> Vec<Seen> {
        edges.iter().filter(|seen| seen.other_first == first).cloned().collect()
    };
    let (before, after, related) = (part(Some(true)), part(Some(false)), part(None));
    let kept = match &card.membership {
        Membership::Kept(reason) => Some(view! {
            <div class="banner">{icon("icon-lock")}<div><strong>{text::WHY_KEPT}</strong><p>{text::kept(reason)}</p></div></div>
        }.into_any()),
        Membership::Member | Membership::Outside => None,
    };
    let outside = (card.membership == Membership::Outside)
        .then(|| view! { <p class="quiet">{text::OUTSIDE}</p> }.into_any());
    let place = match card.wave {
        Some(wave) => text::wave(wave),
        None => text::NOT_PLANNED.to_owned(),
    };
    let deletion = card.deletion.map(|deletion| {
        view! {
            {row(text::DELETED, moment(deletion.accepted()).into_any())}
            {row(text::GRACE, text::duration(deletion.grace).into_any())}
        }
        .into_any()
    });
    let details = card
        .details
        .iter()
        .map(|detail| row(text::detail(detail.name), text::visible(&detail.value).into_any()))
        .collect_view();
    let finalizers = (!card.finalizers.is_empty()).then(|| {
        let rows = card
            .finalizers
            .iter()
            .map(|one| view! { <li><code>{text::visible(one)}</code></li> }.into_any())
            .collect_view();
        view! {
            <h3>{text::FINALIZERS}</h3>
            <ul class="drawer-codes">{rows}</ul>
            <p class="quiet">{text::FINALIZERS_MEAN}</p>
        }
        .into_any()
    });
    let labels = (!card.labels.is_empty()).then(|| {
        let rows =
            card.labels.iter().map(|(key, value)| view! { <li><code>{text::visible(&format!("{key}={value}"))}</code></li> }.into_any()).collect_view();
        view! { <details><summary>{text::LABELS} <span class="count">{card.labels.len()}</span></summary><ul class="drawer-codes">{rows}</ul></details> }.into_any()
    });
    view! {
        <h2 class="drawer-title">{object_name_whole(&card.object)}</h2>
        <p class="drawer-state">
            {state_badge(card.state)} " " <span class="quiet">{card.since.map(moment)}</span>
        </p>
        <p class="quiet">{text::state_means(card.state)}</p>
        {card.node.as_ref().map(|node| view! { <p>{node_health(node)}</p> }.into_any())}
        {cause}
        {kept}
        {outside}
        <h3>{text::DELETION_PROGRESS}</h3>
        <ol class="drawer-phases">{deletion_progress(card)}</ol>
        <h3>{text::ORDER}</h3>
        <p>{place}</p>
        {outlived(edges)}
        {side(text::GOES_AFTER, &before, address)}
        {side(text::GOES_BEFORE, &after, address)}
        {side(text::RELATED, &related, address)}
        {finalizers}
        <h3>{text::IDENTITY}</h3>
        <dl>
            {card.object.namespace.as_ref().map(|namespace| row(text::NAMESPACE, namespace.to_string().into_any()))}
            {row(text::API_VERSION, api_version(card).into_any())}
            {details}
            {card.created.map(|at| row(text::CREATED, moment(at)))}
            {deletion}
            {row(text::UID, view! { <code>{card.uid.to_string()}</code> }.into_any())}
        </dl>
        {labels}
    }
    .into_any()
}

/// The phases of its deletion, with the one that it has reached.
fn deletion_progress(card: &ObjectCard) -> AnyView {
    let (reached, last) = (card.phase, card.final_phase);
    [DeletionPhase::Present, DeletionPhase::Accepted, DeletionPhase::Gone, DeletionPhase::PodsGone]
        .into_iter()
        .filter(|phase| *phase <= last)
        .map(|phase| {
            let class = if phase <= reached { "drawer-reached" } else { "" };
            view! {
                <li class=class aria-current=(phase == reached).then_some("step")>
                    <b>{text::phase_name(phase)}</b> " " {text::phase_means(phase)}
                </li>
            }
            .into_any()
        })
        .collect_view()
        .into_any()
}

fn api_version(card: &ObjectCard) -> String {
    match &*card.object.group {
        "" => card.version.clone(),
        group => format!("{group}/{}", card.version),
    }
}

fn row(name: &'static str, value: AnyView) -> AnyView {
    view! { <div class="pair"><dt>{name}</dt><dd>{value}</dd></div> }.into_any()
}

/// The objects whose finalizers this one clears, by kind and finalizer.
fn outlived(edges: &[Seen]) -> AnyView {
    let mut groups: Vec<(&Seen, usize)> = Vec::new();
    for seen in edges.iter().filter(|seen| seen.edge.kind == EdgeKind::Finishes && !seen.from_here)
    {
        let is_alike = |other: &Seen| {
            let (one, two) = (&seen.edge, &other.edge);
            seen.other.kind == other.other.kind
                && one.strength == two.strength
                && one.reason.value == two.reason.value
        };
        match groups.iter_mut().find(|(other, _)| is_alike(other)) {
            Some((_, count)) => *count += 1,
            None => groups.push((seen, 1)),
        }
    }
    let line = |(seen, count): (&Seen, usize)| {
        let (edge, kind) = (&seen.edge, &seen.other.kind);
        let said = text::must_outlive(count, kind, &edge.reason.value, edge.strength);
        view! { <p>{said}</p> }.into_any()
    };
    groups.into_iter().map(line).collect_view().into_any()
}

fn side(title: &'static str, edges: &[Seen], address: Address) -> AnyView {
    (!edges.is_empty()).then(|| {
        let mut edges = edges.to_vec();
        sort(&mut edges, |a, b| {
            let contains = |seen: &Seen| seen.edge.kind == EdgeKind::Contains;
            let by_name = || {
                let (one, two) = (&a.other, &b.other);
                (&one.kind, &one.name, &a.other_uid).cmp(&(&two.kind, &two.name, &b.other_uid))
            };
            let by_field = || a.edge.reason.field.cmp(&b.edge.reason.field);
            contains(a).cmp(&contains(b)).then_with(by_name).then_with(by_field)
        });
        let count = edges.len();
        let rest = edges.split_off(count.min(LISTED));
        let more = rest.len();
        let list = |edges: Vec<Seen>| edges.into_iter().map(|seen| one(seen, address)).collect_view();
        view! {
            <h3>{title} " " <span class="count">{count}</span></h3>
            <ul class="drawer-edges">{list(edges)}</ul>
            {(more > 0).then(|| view! {
                <details><summary>{text::more(more)}</summary><ul class="drawer-edges">{list(rest)}</ul></details>
            }.into_any()).into_any()}
        }
        .into_any()
    })
    .into_any()
}

fn one(seen: Seen, address: Address) -> AnyView {
    let uid = seen.other_uid;
    let verb =
        if seen.from_here { text::edge(&seen.edge) } else { text::edge_reversed(&seen.edge) };
    view! {
        <li>
            <span class="drawer-verb">{verb}</span>
            <a href=move || address.to_object(&uid) data-noscroll="noscroll">{object_name(&seen.other)}</a>
            <span class="quote">{text::reason(&seen.edge.reason)}</span>
            <span class="drawer-verb">{text::certainty(&seen.edge)}</span>
        </li>
    }
    .into_any()
}
