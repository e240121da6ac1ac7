//! The live graph: lanes, cards and edges in a scroller. Scrolling is the browser's own, so a thumb, a wheel, a finger
//! and a focused card all move it; without JavaScript it is a picture that scrolls. Only what is near the visible part is
//! in the document; far away cards become blocks.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use leptos::prelude::*;
use teardown::{
    message::{Counts, Membership, ObjectCard, State},
    object::Uid,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use super::{
    camera::{Camera, DETAIL},
    edge::{edge, path_of, whole},
    list::lane_name,
    node::{Around, node},
};
use crate::{
    layout::{Area, Place},
    navigation::address::Address,
    state::{
        drawing::{Arrow, Drawing, Lane, Structure, uid_of},
        keyboard::is_typing,
        scene::{self, Scene},
    },
    text,
    view::{
        icon::{self, icon},
        rows::rows,
        state_bar::worst_first,
    },
};

/// Cards in the document at once, and in a first render.
const MOUNTED: usize = 600;
/// One step of the buttons and keys.
const STEP: f64 = 1.25;

/// The level of detail of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Near,
    Mid,
    Far,
}

/// The graph.
#[component]
pub fn Graph(
    /// The page's records.
    scene: Scene,
    /// The page's address.
    address: Address,
) -> impl IntoView {
    let structure = Memo::new(move |_| scene.read_members(Structure::of));
    let drawing = Memo::new(move |previous: Option<&Arc<Drawing>>| {
        Arc::new(Drawing::of(structure.get(), previous.map(|previous| &**previous)))
    });
    let places = Memo::new(move |_| {
        drawing.with(|drawing| drawing.places().collect::<HashMap<Uid, Place>>())
    });
    let camera = Camera::new(address, drawing);
    let visible = visible(camera);
    let lit = lit(scene, address, structure);
    let roving = RwSignal::new(None::<Uid>);
    let focus = Signal::derive(move || {
        roving
            .get()
            .filter(|uid| visible.with(|visible| visible.contains(uid)))
            .or_else(|| visible.with(|visible| visible.first().cloned()))
    });
    let around = Around { scene, lit: lit.into(), selected: address.selected, focus };
    let choose = Callback::new(move |uid: Uid| {
        roving.set(Some(uid.clone()));
        let same = address.selected.with_untracked(|selected| selected.as_ref() == Some(&uid));
        address.select((!same).then_some(&uid));
    });
    camera.watch(address);
    camera.follow(scene, address, lit);
    view! {
        <div class="graph-frame">
            <div
                class="graph-scroller"
                node_ref=camera.scroller
                tabindex="0"
                role="group"
                aria-label=text::GRAPH_LABEL
                aria-describedby="graph-hint"
                on:scroll=move |_| camera.moved()
                on:wheel=move |event| camera.wheel(&event)
                on:pointerdown=move |event| camera.grab(&event)
                on:touchmove=move |event| camera.pinch(&event)
                on:keydown=move |event| {
                    if let Some(uid) = key(&event, camera, structure, places) {
                        roving.set(Some(uid.clone()));
                        camera.focus(uid);
                    } else if matches!(event.key().as_str(), "Enter" | " ") && let Some(uid) = under(&event) {
                        event.prevent_default();
                        choose.run(uid);
                    }
                }
            >
                {picture(camera, visible, structure, places, around, choose)}
            </div>
            <p class="graph-note">{move || note(scene, drawing)}</p>
            <p class="visually-hidden" id="graph-hint">{text::MAP_HINT}</p>
            {tools(camera)}
        </div>
    }
}

/// The objects near the visible part; a first render does not know that part, and has the first ones.
fn visible(camera: Camera) -> Memo<Vec<Uid>> {
    Memo::new(move |_| {
        let window = camera.window.get();
        camera.drawing.with(|drawing| {
            let near = drawing
                .places()
                .filter(|(_, place)| window.is_none_or(|window| window.meets(&place.area)));
            let most = if window.is_none() { MOUNTED } else { usize::MAX };
            near.map(|(uid, _)| uid).take(most).collect::<Vec<_>>()
        })
    })
}

/// The drawing: lanes, edges, and the objects as cards, or as blocks where they are far away.
fn picture(
    camera: Camera,
    visible: Memo<Vec<Uid>>,
    structure: Memo<Structure>,
    places: Memo<HashMap<Uid, Place>>,
    around: Around,
    choose: Callback<Uid>,
) -> AnyView {
    let Camera { zoom, drawing, .. } = camera;
    let scene = around.scene;
    let detail = Memo::new(move |_| match zoom.get() {
        zoom if zoom < DETAIL.1 || visible.with(|visible| visible.len() > MOUNTED) => Detail::Far,
        zoom if zoom < DETAIL.0 => Detail::Mid,
        _ => Detail::Near,
    });
    // Memos of their own: an effect that reads two memos, of which the first is made from the second, misses a change of
    // the second that leaves the first as it is (reactive_graph 0.2). Cards of objects that are gone would stay.
    let shown = move |far: bool| {
        Memo::new(
            move |_| {
                if (detail.get() == Detail::Far) == far { visible.get() } else { Vec::new() }
            },
        )
    };
    let (cards, blocks) = (shown(false), shown(true));
    let counts = edge_counts(structure);
    let draw_node = move |uid| placed_node(uid, places, counts, around, choose);
    let draw_block = move |uid| block(&uid, scene, places);
    let draw_edge = move |(arrow, path): (Arrow, String)| {
        Some(edge(scene, &arrow, Signal::stored(path), around.lit, around.selected))
    };
    let class = move || match detail.get() {
        Detail::Near => "graph near",
        Detail::Mid => "graph graph-mid",
        Detail::Far => "graph graph-far",
    };
    let size = move |of: fn(&Drawing) -> f64| {
        move || whole(drawing.with(|drawing| of(drawing)) * zoom.get())
    };
    let view_box = move || {
        drawing.with(|drawing| {
            format!("0 0 {} {}", whole(drawing.layout.width), whole(drawing.layout.height))
        })
    };
    view! {
        <svg class=class width=size(|drawing| drawing.layout.width) height=size(|drawing| drawing.layout.height) viewBox=view_box>
            <defs>
                {arrow_head("arrow")}
                {arrow_head("arrow-lit")}
            </defs>
            <g class="graph-lanes">{move || drawing.with(|drawing| lanes(scene, drawing, choose))}</g>
            <g class="graph-edges">{rows(arrows(camera), arrow_key, draw_edge)}</g>
            <g class="graph-blocks">{rows(blocks, Uid::to_string, draw_block)}</g>
            <g class="graph-nodes">{rows(cards, Uid::to_string, draw_node)}</g>
        </svg>
    }
    .into_any()
}

/// For each object the edges that lead to it, and away from it.
fn edge_counts(structure: Memo<Structure>) -> Memo<HashMap<Uid, (usize, usize)>> {
    Memo::new(move |_| {
        let mut counts: HashMap<Uid, (usize, usize)> = HashMap::new();
        structure.with(|structure| {
            for arrow in &structure.edges {
                counts.entry(arrow.later.clone()).or_default().0 += 1;
                counts.entry(arrow.first.clone()).or_default().1 += 1;
            }
        });
        counts
    })
}

/// The card of an object, which moves with its place.
fn placed_node(
    uid: Uid,
    places: Memo<HashMap<Uid, Place>>,
    counts: Memo<HashMap<Uid, (usize, usize)>>,
    around: Around,
    choose: Callback<Uid>,
) -> Option<AnyView> {
    let card = around.scene.object(&uid)?;
    let counted = uid.clone();
    let counts = Signal::derive(move || {
        counts.with(|counts| counts.get(&counted).copied().unwrap_or_default())
    });
    let place = Signal::derive(move || {
        places.with(|places| {
            places.get(&uid).map_or((0.0, 0.0), |place| (place.area.x, place.area.y))
        })
    });
    Some(node(card, place, counts, around, choose))
}

/// An object that is too far away for a card.
fn block(uid: &Uid, scene: Scene, places: Memo<HashMap<Uid, Place>>) -> Option<AnyView> {
    let card = scene.object(uid)?;
    let at = places.with(|places| places.get(uid).map(|place| place.area));
    Some(view! {
        <rect
            class=move || format!("graph-block {}", icon::of_state(card.with(|card| card.state)))
            x=at.map(|area| whole(area.x)) y=at.map(|area| whole(area.y))
            width=at.map(|area| whole(area.width)) height=at.map(|area| whole(area.height)) rx="9"
        ></rect>
    }.into_any())
}

/// The edges near the visible part, each with its path.
fn arrows(camera: Camera) -> Memo<Vec<(Arrow, String)>> {
    Memo::new(move |_| {
        let window = camera.window.get();
        camera.drawing.with(|drawing| {
            let paths = paths(drawing, window);
            let edges = drawing.structure.edges.iter();
            edges
                .filter_map(|arrow| {
                    paths
                        .get(&(&arrow.first, &arrow.later))
                        .map(|path| (arrow.clone(), path.clone()))
                })
                .collect::<Vec<(Arrow, String)>>()
        })
    })
}

/// The number of objects and edges.
fn note(scene: Scene, drawing: Memo<Arc<Drawing>>) -> String {
    let edges = drawing.with(|drawing| drawing.structure.edges.len());
    scene.read_members(|records| {
        let all = scene::objects(records).count();
        let is_outside = |card: &&ObjectCard| card.membership == Membership::Outside;
        let outside = scene::objects(records).filter(is_outside).count();
        text::drawn(all - outside, outside, edges)
    })
}

/// The buttons that scale the map.
fn tools(camera: Camera) -> AnyView {
    view! {
        <div class="graph-tools">
            {tool("icon-minus", text::ZOOM_OUT, move || camera.scale(1.0 / STEP, None))}
            {tool("icon-plus", text::ZOOM_IN, move || camera.scale(STEP, None))}
            {tool("icon-one", text::ZOOM_ONE, move || camera.set(1.0))}
            {tool("icon-fit", text::ZOOM_FIT, move || camera.fit())}
        </div>
    }
    .into_any()
}

fn arrow_head(id: &'static str) -> AnyView {
    view! {
        <marker id=id viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path class=format!("{id}-head") d="M0 .6 7.4 4 0 7.4Z"></path>
        </marker>
    }
    .into_any()
}

fn tool(symbol: &'static str, label: &'static str, act: impl Fn() + 'static) -> AnyView {
    view! { <button type="button" class="tool" title=label aria-label=label on:click=move |_| act()>{icon(symbol)}</button> }.into_any()
}

/// An edge's key holds its path too, so that a moved edge is drawn anew.
fn arrow_key((arrow, path): &(Arrow, String)) -> String {
    let edge = &arrow.edge;
    format!("{} {} {} {} {path}", edge.from, edge.to, edge.kind as u8, edge.reason.field)
}

/// The objects that are not faded: those that the filter finds, else the selected object and its neighbours.
fn lit(
    scene: Scene,
    address: Address,
    structure: Memo<Structure>,
) -> Memo<Option<Arc<HashSet<Uid>>>> {
    Memo::new(move |_| {
        let filter = address.filter();
        if !filter.is_empty() {
            let found = scene.read(|records| {
                scene::objects(records)
                    .filter(|card| filter.shows_card(card))
                    .map(|card| card.uid.clone())
                    .collect::<HashSet<_>>()
            });
            return Some(Arc::new(found));
        }
        let selected = address.selected.get()?;
        structure.with(|structure| {
            let drawn = structure
                .edges
                .iter()
                .any(|arrow| arrow.first == selected || arrow.later == selected);
            drawn.then(|| {
                let near = structure
                    .edges
                    .iter()
                    .filter(|arrow| arrow.first == selected || arrow.later == selected);
                let mut lit: HashSet<Uid> =
                    near.flat_map(|arrow| [arrow.first.clone(), arrow.later.clone()]).collect();
                lit.insert(selected.clone());
                Arc::new(lit)
            })
        })
    })
}

/// The paths of edges whose box is near the visible part.
fn paths(drawing: &Drawing, window: Option<Area>) -> HashMap<(&Uid, &Uid), String> {
    let ends: HashSet<&Uid> =
        drawing.structure.edges.iter().flat_map(|arrow| [&arrow.first, &arrow.later]).collect();
    drawing
        .layout
        .edges
        .iter()
        .filter(|route| window.is_none_or(|window| window.meets(&around_points(&route.points))))
        .filter_map(|route| {
            let uid = |key: &str| ends.get(&uid_of(key)).copied();
            Some(((uid(&route.from)?, uid(&route.to)?), path_of(&route.points)))
        })
        .collect()
}

fn around_points(points: &[(f64, f64)]) -> Area {
    let fold = |of: fn(&(f64, f64)) -> f64, by: fn(f64, f64) -> f64, start: f64| {
        points.iter().map(of).fold(start, by)
    };
    let (left, top) = (fold(|p| p.0, f64::min, f64::MAX), fold(|p| p.1, f64::min, f64::MAX));
    let (right, bottom) = (fold(|p| p.0, f64::max, f64::MIN), fold(|p| p.1, f64::max, f64::MIN));
    // A level line has no height of its own.
    Area { x: left, y: top - 1.0, width: right - left + 1.0, height: bottom - top + 2.0 }
}

/// The lanes with their headings; a namespace's heading stands for the namespace's own object.
fn lanes(scene: Scene, drawing: &Drawing, choose: Callback<Uid>) -> AnyView {
    drawing
        .lanes
        .iter()
        .map(|(lane, area)| {
            let head = match lane {
                Lane::Namespace(name) => drawing.structure.heads.get(name).cloned(),
                Lane::Cluster | Lane::Outside => None,
            };
            let counts = {
                let lane = lane.clone();
                Memo::new(move |_| {
                    scene.read(|records| {
                        let members = scene::objects(records).filter(|card| Lane::of(card) == lane);
                        scene::count(members.map(|card| &card.state))
                    })
                })
            };
            let (x, y) = (whole(area.x) + 16, whole(area.y) + 26);
            let (left, top, width, height) = (whole(area.x), whole(area.y), whole(area.width), whole(area.height));
            let class = match lane {
                Lane::Namespace(_) => "lane",
                Lane::Cluster => "lane lane-cluster",
                Lane::Outside => "lane lane-outside",
            };
            let name = lane_name(lane);
            let title = match head {
                None => view! { <text class="lane-name" x=x y=y>{name}</text> }.into_any(),
                Some(uid) => {
                    let key = uid.to_string();
                    view! {
                        <text
                            class="lane-name lane-link" x=x y=y
                            role="button" tabindex="0" data-uid=key
                            on:click=move |_| choose.run(uid.clone())
                        >{name}</text>
                    }
                    .into_any()
                }
            };
            view! {
                <g class=class>
                    <rect class="lane-box" x=left y=top width=width height=height rx="14"></rect>
                    {title}
                    <text class="lane-counts" x=left + width - 16 y=y>{move || roll_up(&counts.get())}</text>
                </g>
            }.into_any()
        })
        .collect_view()
    .into_any()
}

/// `2 stuck · 41 gone · 57 objects`.
fn roll_up(counts: &Counts) -> String {
    let parts = worst_first(counts).into_iter().filter(|(state, _)| *state != State::Present);
    let mut words: Vec<String> =
        parts.take(3).map(|(state, count)| text::state_count(state, count)).collect();
    words.push(text::objects(counts.values().sum()));
    words.join(" · ")
}

/// The object whose card an event came from.
fn under(event: &KeyboardEvent) -> Option<Uid> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest("[data-uid]").ok().flatten()?.get_attribute("data-uid").map(Uid::new)
}

/// Scales the map, or finds the card that a key leads to.
fn key(
    event: &KeyboardEvent,
    camera: Camera,
    structure: Memo<Structure>,
    places: Memo<HashMap<Uid, Place>>,
) -> Option<Uid> {
    if is_typing(event) {
        return None;
    }
    match event.key().as_str() {
        "+" | "=" => camera.scale(STEP, None),
        "-" => camera.scale(1.0 / STEP, None),
        "0" => camera.set(1.0),
        "f" => camera.fit(),
        _ => {
            let from = under(event)?;
            let to = walk(&event.key(), &from, structure, places)?;
            event.prevent_default();
            return Some(to);
        }
    }
    event.prevent_default();
    None
}

/// Left and right follow edges to the nearest end; up and down stay in the column.
fn walk(
    key: &str,
    from: &Uid,
    structure: Memo<Structure>,
    places: Memo<HashMap<Uid, Place>>,
) -> Option<Uid> {
    places.with_untracked(|places| {
        let here = places.get(from)?;
        let nearest = |ends: &mut dyn Iterator<Item = &Uid>| {
            ends.filter_map(|uid| Some((uid, places.get(uid)?)))
                .min_by(|a, b| {
                    let far = |place: &Place| (place.area.y - here.area.y).abs();
                    far(a.1).total_cmp(&far(b.1)).then_with(|| a.0.cmp(b.0))
                })
                .map(|(uid, _)| uid.clone())
        };
        structure.with_untracked(|structure| {
            let edges = &structure.edges;
            match key {
                "ArrowRight" => {
                    nearest(&mut edges.iter().filter(|a| a.first == *from).map(|a| &a.later))
                }
                "ArrowLeft" => {
                    nearest(&mut edges.iter().filter(|a| a.later == *from).map(|a| &a.first))
                }
                "ArrowDown" | "ArrowUp" => {
                    let down = key == "ArrowDown";
                    let further = |place: &Place| {
                        place.rank == here.rank
                            && if down {
                                place.area.y > here.area.y
                            } else {
                                place.area.y < here.area.y
                            }
                    };
                    nearest(
                        &mut places.iter().filter(|(_, place)| further(place)).map(|(uid, _)| uid),
                    )
                }
                _ => None,
            }
        })
    })
}
