//! The live graph: lanes, cards and edges in a scroller. Scrolling is the browser's own, so a thumb, a wheel, a finger
//! and a focused card all move it; without JavaScript it is a picture that scrolls. Only what is near the visible part is
//! in the document; far away cards become blocks.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use leptos::{html, prelude::*};
use teardown::{
    message::{Counts, State},
    object::Uid,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent, PointerEvent, TouchEvent, WheelEvent};

use super::{
    each::{Row, each},
    edge::{edge, path_of, whole},
    icon::{self, icon},
    list::{lane_name, matches},
    node::{Around, node},
    search::is_typing,
};
use crate::{
    address::Address,
    drawing::{Arrow, Drawing, Lane, Structure},
    erased::{alive, memo, now},
    layout::{Area, Place},
    scene::{self, Scene},
    sorted::sorted,
    text,
};

/// Cards in the document at once, and in a first render.
const MOUNTED: usize = 600;
/// The scale of a first render, where the address has none.
const SCALE: f64 = 0.8;
/// The smallest and the largest scale.
const SCALES: (f64, f64) = (0.05, 2.0);
/// Below these, cards have one line, and cards are blocks.
const DETAIL: (f64, f64) = (0.6, 0.25);
/// Room below the drawing for the note and the buttons.
const NOTE: i32 = 40;
/// One step of the buttons and keys.
const STEP: f64 = 1.25;

/// How much of a card is drawn.
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
    let structure = memo(move || scene.read_members(Structure::of));
    let drawing = Memo::new(move |previous: Option<&Arc<Drawing>>| {
        Arc::new(Drawing::of(structure.get(), previous.map(|previous| &**previous)))
    });
    let places =
        memo(move || drawing.with(|drawing| drawing.places().collect::<HashMap<Uid, Place>>()));
    let zoom = RwSignal::new(
        address
            .zoom
            .get_untracked()
            .map_or(SCALE, |percent| f64::from(percent) / 100.0)
            .clamp(SCALES.0, SCALES.1),
    );
    let window = RwSignal::new(None::<Area>);
    let scroller = NodeRef::<html::Div>::new();
    let camera = Camera { zoom, window, scroller, drawing };

    let visible = memo(move || {
        let window = window.get();
        drawing.with(|drawing| {
            let near = drawing
                .places()
                .filter(|(_, place)| window.is_none_or(|window| window.meets(&place.area)));
            let most = if window.is_none() { MOUNTED } else { usize::MAX };
            near.map(|(uid, _)| uid).take(most).collect::<Vec<_>>()
        })
    });
    let detail = memo(move || match zoom.get() {
        zoom if zoom < DETAIL.1 || visible.with(|visible| visible.len() > MOUNTED) => Detail::Far,
        zoom if zoom < DETAIL.0 => Detail::Mid,
        _ => Detail::Near,
    });
    let lit = lit(scene, address, structure);
    let roving = RwSignal::new(None::<Uid>);
    let focus = Signal::derive(move || {
        roving
            .get()
            .filter(|uid| visible.with(|visible| visible.contains(uid)))
            .or_else(|| visible.with(|visible| visible.first().cloned()))
    });
    let around = Around { lit: lit.into(), selected: address.selected.into(), focus };
    let choose = Callback::new(move |uid: Uid| {
        roving.set(Some(uid.clone()));
        let same =
            address.selected.with_untracked(|selected| selected.as_deref() == Some(uid.as_str()));
        address.select((!same).then_some(&uid));
    });

    camera.watch(address);
    let draw_node = move |uid: &Uid| {
        let uid = uid.clone();
        let card = scene.object(&uid)?;
        let counts = structure.with_untracked(|structure| {
            let before = structure.edges.iter().filter(|arrow| arrow.later == uid).count();
            (before, structure.edges.iter().filter(|arrow| arrow.first == uid).count())
        });
        let place = Signal::derive(move || {
            places.with(|places| {
                places.get(&uid).map_or((0.0, 0.0), |place| (place.area.x, place.area.y))
            })
        });
        Some(node(card, place, counts, around, choose))
    };
    let draw_block = move |uid: &Uid| {
        let uid = uid.clone();
        let card = RwSignal::from(scene.object(&uid)?);
        let area = move || places.with(|places| places.get(&uid).map(|place| place.area));
        let at = area();
        Some(view! {
            <rect
                class=move || format!("block {}", icon::of_state(card.with(|card| card.state)))
                x=at.map(|area| whole(area.x)) y=at.map(|area| whole(area.y))
                width=at.map(|area| whole(area.width)) height=at.map(|area| whole(area.height)) rx="9"
            ></rect>
        })
    };
    let shown = move |far: bool| {
        if (detail.get() == Detail::Far) == far { visible.get() } else { Vec::new() }
    };
    let nodes = each(move || {
        shown(false)
            .into_iter()
            .map(|uid| Row::new(uid.to_string(), move || draw_node(&uid)))
            .collect()
    });
    let blocks = each(move || {
        shown(true)
            .into_iter()
            .map(|uid| Row::new(uid.to_string(), move || draw_block(&uid)))
            .collect()
    });
    let arrows = memo(move || {
        let window = window.get();
        drawing.with(|drawing| {
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
    });
    let edges = each(move || {
        let draw = move |arrow: &Arrow, path: String| {
            edge(scene, arrow, Signal::stored(path), around.lit, around.selected)
        };
        let row = |(arrow, path): (Arrow, String)| {
            Row::new(arrow_key(&arrow, &path), move || draw(&arrow, path))
        };
        arrows.get().into_iter().map(row).collect()
    });
    let class = move || match detail.get() {
        Detail::Near => "graph near",
        Detail::Mid => "graph mid",
        Detail::Far => "graph far",
    };
    let size = move |of: fn(&Drawing) -> f64| {
        move || whole(drawing.with(|drawing| of(drawing)) * zoom.get())
    };
    let view_box = move || {
        drawing.with(|drawing| {
            format!("0 0 {} {}", whole(drawing.layout.width), whole(drawing.layout.height))
        })
    };
    let note = move || {
        drawing.with(|drawing| {
            text::drawn(
                drawing.layout.nodes.len(),
                drawing.structure.edges.len(),
                drawing.lanes.len(),
            )
        })
    };
    view! {
        <div class="graph-frame">
            <div
                class="graph-scroller"
                node_ref=scroller
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
                <svg class=class width=size(|drawing| drawing.layout.width) height=size(|drawing| drawing.layout.height) viewBox=view_box>
                    <defs>
                        {arrow_head("arrow")}
                        {arrow_head("arrow-lit")}
                    </defs>
                    <g class="lanes">{now(move || drawing.with(|drawing| lanes(scene, drawing, choose)))}</g>
                    <g class="edges">
                        {edges}
                    </g>
                    <g class="blocks">{blocks}</g>
                    <g class="nodes">{nodes}</g>
                </svg>
            </div>
            <p class="graph-note">{now(note)}</p>
            <p class="visually-hidden" id="graph-hint">{text::MAP_HINT}</p>
            <div class="graph-tools">
                {tool("icon-minus", text::ZOOM_OUT, move || camera.scale(1.0 / STEP, None))}
                {tool("icon-plus", text::ZOOM_IN, move || camera.scale(STEP, None))}
                {tool("icon-one", text::ZOOM_ONE, move || camera.set(1.0))}
                {tool("icon-fit", text::ZOOM_FIT, move || camera.fit())}
            </div>
        </div>
    }
}

fn arrow_head(id: &'static str) -> impl IntoView {
    view! {
        <marker id=id viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path class=format!("{id}-head") d="M0 .6 7.4 4 0 7.4Z"></path>
        </marker>
    }
}

fn tool(symbol: &'static str, label: &'static str, act: impl Fn() + 'static) -> impl IntoView {
    view! { <button type="button" class="tool" title=label aria-label=label on:click=move |_| act()>{icon(symbol)}</button> }
}

/// An edge's key holds its path too, so that a moved edge is drawn anew.
fn arrow_key(arrow: &Arrow, path: &str) -> String {
    let edge = &arrow.edge;
    format!("{} {} {} {} {path}", edge.from, edge.to, text::edge(edge.kind), edge.reason.field)
}

/// What is not faded: what the search finds, else the selected object and its neighbours.
fn lit(
    scene: Scene,
    address: Address,
    structure: Memo<Structure>,
) -> Memo<Option<Arc<HashSet<Uid>>>> {
    memo(move || {
        if let Some(search) = address.search.get().filter(|search| !search.is_empty()) {
            let search = search.to_ascii_lowercase();
            let found = scene.read(|records| {
                scene::objects(records)
                    .filter(|card| matches(card, &search))
                    .map(|card| card.uid.clone())
                    .collect::<HashSet<_>>()
            });
            return Some(Arc::new(found));
        }
        let selected = Uid::new(address.selected.get()?);
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
    let ends: HashMap<&str, &Uid> = drawing
        .structure
        .edges
        .iter()
        .flat_map(|arrow| [&arrow.first, &arrow.later])
        .map(|uid| (uid.as_str(), uid))
        .collect();
    drawing
        .layout
        .edges
        .iter()
        .filter(|route| window.is_none_or(|window| window.meets(&around_points(&route.points))))
        .filter_map(|route| {
            let uid = |key: &str| ends.get(crate::drawing::uid_of(key).as_str()).copied();
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
fn lanes(scene: Scene, drawing: &Drawing, choose: Callback<Uid>) -> impl IntoView + use<> {
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
                memo(move || {
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
                Lane::Cluster => "lane cluster",
                Lane::Outside => "lane outside",
            };
            let name = lane_name(lane);
            let title = match head {
                None => view! { <text class="lane-name" x=x y=y>{name}</text> }.into_any(),
                Some(uid) => {
                    let key = uid.to_string();
                    view! {
                        <text
                            class="lane-name link" x=x y=y
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
                    <text class="lane-counts" x=left + width - 16 y=y>{now(move || roll_up(&counts.get()))}</text>
                </g>
            }
        })
        .collect_view()
}

/// `2 stuck · 41 gone · 57 objects`.
fn roll_up(counts: &Counts) -> String {
    let mut parts: Vec<(State, usize)> =
        counts.iter().map(|(state, count)| (*state, *count)).collect();
    parts.retain(|(state, _)| *state != State::Present);
    let parts = sorted(parts, |a, b| b.0.severity().cmp(&a.0.severity()));
    let mut words: Vec<String> =
        parts.into_iter().take(3).map(|(state, count)| text::state_count(state, count)).collect();
    words.push(text::objects(counts.values().sum()));
    words.join(" · ")
}

/// The part that is seen, and how large.
#[derive(Clone, Copy)]
struct Camera {
    zoom: RwSignal<f64>,
    window: RwSignal<Option<Area>>,
    scroller: NodeRef<html::Div>,
    drawing: Memo<Arc<Drawing>>,
}

impl Camera {
    /// Once alive: measures, follows the selection, and keeps the scale in the address.
    fn watch(self, address: Address) {
        alive(move || {
            self.zoom.track();
            self.drawing.track();
            request_animation_frame(move || self.moved());
        });
        alive(move || {
            let resized = window_event_listener(leptos::ev::resize, move |_| self.moved());
            on_cleanup(move || resized.remove());
        });
        Effect::new(move |before: Option<Option<String>>| {
            let selected = address.selected.get();
            if let Some(uid) = selected.as_ref().filter(|_| before.as_ref() != Some(&selected)) {
                let uid = Uid::new(uid.as_str());
                request_animation_frame(move || self.reveal(&uid));
            }
            selected
        });
        let unasked = address.zoom.get_untracked().is_none();
        Effect::new(move |before: Option<f64>| {
            if before.is_none() && unasked {
                self.fit_width();
            }
            let zoom = self.zoom.get();
            if before.is_some_and(|before| (before - zoom).abs() > f64::EPSILON) {
                address.keep_zoom((zoom * 100.0).round() as u32);
            }
            zoom
        });
    }

    /// The first sight: as much of the width as can be read.
    fn fit_width(self) {
        let Some(frame) = self.scroller.get_untracked() else { return };
        let width = self.drawing.with_untracked(|drawing| drawing.layout.width);
        let zoom = f64::from(frame.client_width()) / width;
        if zoom.is_finite() && zoom > 0.0 {
            self.zoom.set(zoom.clamp(DETAIL.0, SCALE));
        }
    }

    /// Takes note of the visible part, with a margin of one screen; silent as long as the old margin is not used up.
    fn moved(self) {
        let Some(seen) = self.seen() else { return };
        let inside = |area: Area| {
            area.x <= seen.x
                && area.y <= seen.y
                && area.x + area.width >= seen.x + seen.width
                && area.y + area.height >= seen.y + seen.height
                && area.width <= seen.width * 4.0
        };
        if !self.window.get_untracked().is_some_and(inside) {
            self.window.set(Some(Area {
                x: seen.x - seen.width,
                y: seen.y - seen.height,
                width: seen.width * 3.0,
                height: seen.height * 3.0,
            }));
        }
    }

    /// The visible part in the drawing's own measure; none while the graph is not shown.
    fn seen(self) -> Option<Area> {
        let frame = self.scroller.get_untracked()?;
        let zoom = self.zoom.get_untracked();
        let (width, height) = (f64::from(frame.client_width()), f64::from(frame.client_height()));
        (width > 0.0 && height > 0.0).then(|| Area {
            x: f64::from(frame.scroll_left()) / zoom,
            y: f64::from(frame.scroll_top()) / zoom,
            width: width / zoom,
            height: height / zoom,
        })
    }

    fn set(self, zoom: f64) {
        self.scale(zoom / self.zoom.get_untracked(), None);
    }

    /// Scales around a point of the frame, or its middle.
    fn scale(self, by: f64, around: Option<(f64, f64)>) {
        let (Some(frame), Some(seen)) = (self.scroller.get_untracked(), self.seen()) else {
            return;
        };
        let old = self.zoom.get_untracked();
        let zoom = (old * by).clamp(SCALES.0, SCALES.1);
        let (x, y) = around.unwrap_or((seen.width * old / 2.0, seen.height * old / 2.0));
        let (to_x, to_y) = ((seen.x + x / old) * zoom - x, (seen.y + y / old) * zoom - y);
        self.zoom.set(zoom);
        request_animation_frame(move || {
            frame.set_scroll_left(to_x as i32);
            frame.set_scroll_top(to_y as i32);
            self.moved();
        });
    }

    /// The whole drawing, never larger than life.
    fn fit(self) {
        let Some(frame) = self.scroller.get_untracked() else { return };
        let (width, height) =
            self.drawing.with_untracked(|drawing| (drawing.layout.width, drawing.layout.height));
        let high = f64::from(frame.client_height() - NOTE);
        let zoom = (f64::from(frame.client_width()) / width).min(high / height);
        self.set(zoom.min(1.0));
    }

    /// A wheel scrolls; with the key that means zoom, and from a touchpad's pinch, it scales.
    fn wheel(self, event: &WheelEvent) {
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let by = (-event.delta_y() * 0.004).exp().clamp(0.5, 2.0);
            self.scale(by, self.point(f64::from(event.client_x()), f64::from(event.client_y())));
        }
    }

    fn point(self, x: f64, y: f64) -> Option<(f64, f64)> {
        let frame = self.scroller.get_untracked()?.get_bounding_client_rect();
        Some((x - frame.left(), y - frame.top()))
    }

    /// Drags the drawing by its background until the pointer is let go.
    fn grab(self, event: &PointerEvent) {
        let Some(frame) = self.scroller.get_untracked() else { return };
        let on_node = event
            .target()
            .and_then(|target| target.dyn_into::<Element>().ok())
            .and_then(|target| target.closest("[data-uid]").ok().flatten());
        if event.pointer_type() != "mouse" || event.button() != 0 || on_node.is_some() {
            return;
        }
        let from = (event.client_x() + frame.scroll_left(), event.client_y() + frame.scroll_top());
        let held = StoredValue::new(None::<WindowListenerHandle>);
        let moved = window_event_listener(leptos::ev::pointermove, move |event| {
            if event.buttons() == 0 {
                if let Some(held) = held.try_update_value(Option::take).flatten() {
                    held.remove();
                }
                return;
            }
            frame.set_scroll_left(from.0 - event.client_x());
            frame.set_scroll_top(from.1 - event.client_y());
        });
        held.set_value(Some(moved));
    }

    /// Two fingers scale by how their distance changes.
    fn pinch(self, event: &TouchEvent) {
        thread_local! {
            static LAST: std::cell::Cell<Option<f64>> = const { std::cell::Cell::new(None) };
        }
        let touches = event.touches();
        let (Some(a), Some(b)) = (touches.get(0), touches.get(1)) else {
            LAST.set(None);
            return;
        };
        event.prevent_default();
        let (ax, ay, bx, by) = (
            f64::from(a.client_x()),
            f64::from(a.client_y()),
            f64::from(b.client_x()),
            f64::from(b.client_y()),
        );
        let distance = (ax - bx).hypot(ay - by).max(1.0);
        if let Some(last) = LAST.replace(Some(distance)) {
            self.scale(distance / last, self.point(f64::midpoint(ax, bx), f64::midpoint(ay, by)));
        }
    }

    /// Scrolls as little as needed for a card to be seen.
    fn reveal(self, uid: &Uid) {
        let (Some(frame), Some(seen)) = (self.scroller.get_untracked(), self.seen()) else {
            return;
        };
        let place = self.drawing.with_untracked(|drawing| {
            drawing.places().find(|(key, _)| key == uid).map(|(_, place)| place.area)
        });
        let Some(area) = place else { return };
        let zoom = self.zoom.get_untracked();
        let towards = |start: f64, length: f64, from: f64, size: f64| {
            let room = 24.0;
            if from < start {
                from - room
            } else if from + size > start + length {
                from + size + room - length
            } else {
                start
            }
        };
        frame.set_scroll_left((towards(seen.x, seen.width, area.x, area.width) * zoom) as i32);
        frame.set_scroll_top((towards(seen.y, seen.height, area.y, area.height) * zoom) as i32);
        self.moved();
    }

    /// Brings a card into the document and gives it the focus.
    fn focus(self, uid: Uid) {
        self.reveal(&uid);
        request_animation_frame(move || {
            let card = document().get_element_by_id(&format!("node-{uid}"));
            if let Some(card) = card.and_then(|card| card.dyn_into::<web_sys::SvgElement>().ok()) {
                // A card that cannot take the focus is not shown.
                let _ = card.focus();
            }
        });
    }
}

/// The object whose card an event came from.
fn under(event: &KeyboardEvent) -> Option<Uid> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest("[data-uid]").ok().flatten()?.get_attribute("data-uid").map(Uid::new)
}

/// What a key does: scale, or walk. Answers the card to go to.
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
