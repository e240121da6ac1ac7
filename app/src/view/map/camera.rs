//! The visible part of the graph and its scale: the scroller, and the effect of wheels and fingers on it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use leptos::{html, prelude::*};
use teardown::object::Uid;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, PointerEvent, ResizeObserver, TouchEvent, WheelEvent};

use crate::{
    layout::Area,
    navigation::address::Address,
    state::{
        drawing::Drawing,
        filter::Filter,
        scene::{self, Scene},
    },
    view::run::{attention::needs_attention, current::is_moving},
};

/// The scale of a first render, where the address has none: no text is smaller than 12 pixels.
const SCALE: f64 = 1.0;
/// The smallest and the largest scale.
const SCALES: (f64, f64) = (0.05, 2.0);
/// Below these, cards have one line, and cards are blocks.
pub(super) const DETAIL: (f64, f64) = (0.99, 0.25);
/// A scale has to stay this long before the address holds it: browsers refuse more than some hundred changes of an address
/// in ten seconds.
const STILL: Duration = Duration::from_millis(250);
/// Room below the drawing for the note and the buttons.
const NOTE: i32 = 40;
/// The part that is seen, and how large.
#[derive(Clone, Copy)]
pub(super) struct Camera {
    pub(super) zoom: RwSignal<f64>,
    pub(super) window: RwSignal<Option<Area>>,
    pub(super) scroller: NodeRef<html::Div>,
    pub(super) drawing: Memo<Arc<Drawing>>,
}

impl Camera {
    /// As large as the address says.
    pub(super) fn new(address: Address, drawing: Memo<Arc<Drawing>>) -> Self {
        let zoom = address
            .zoom
            .get_untracked()
            .map_or(SCALE, |percent| f64::from(percent) / 100.0)
            .clamp(SCALES.0, SCALES.1);
        Self {
            zoom: RwSignal::new(zoom),
            window: RwSignal::new(None),
            scroller: NodeRef::new(),
            drawing,
        }
    }

    /// Once alive: measures, follows the selection, and keeps the scale in the address.
    pub(super) fn watch(self, address: Address) {
        // A tab that nobody sees draws no frame, and would keep what waits for one.
        let waits = StoredValue::new(false);
        Effect::new(move |_| {
            self.zoom.track();
            self.drawing.track();
            if !waits.get_value() {
                waits.set_value(true);
                request_animation_frame(move || {
                    if waits.try_set_value(false).is_none() {
                        self.moved();
                    }
                });
            }
        });
        // Not the window's: the frame also grows when a diagnosis above it closes or goes.
        Effect::new(move |_| {
            let Some(frame) = self.scroller.get() else { return };
            let resized = Closure::<dyn FnMut()>::new(move || self.moved());
            let observer = ResizeObserver::new(resized.as_ref().unchecked_ref()).ok();
            if let Some(observer) = &observer {
                observer.observe(&frame);
            }
            let held = StoredValue::new_local(Some((observer, resized)));
            on_cleanup(move || {
                if let Some((Some(observer), _)) = held.try_update_value(Option::take).flatten() {
                    observer.disconnect();
                }
            });
        });
        Effect::new(move |before: Option<Option<Uid>>| {
            let selected = address.selected.get();
            if let Some(uid) = selected.clone().filter(|_| before.as_ref() != Some(&selected)) {
                request_animation_frame(move || self.reveal(&uid));
            }
            selected
        });
        let mut keep = debounce(STILL, move |zoom: f64| {
            address.keep_zoom((zoom * 100.0).round() as u32);
        });
        Effect::new(move |before: Option<f64>| {
            let zoom = self.zoom.get();
            if before.is_some_and(|before| (before - zoom).abs() > f64::EPSILON) {
                keep(zoom);
            }
            zoom
        });
    }

    /// Brings what a filter finds into view, and on first sight what is active, unless an object is selected.
    pub(super) fn follow(
        self,
        scene: Scene,
        address: Address,
        lit: Memo<Option<Arc<HashSet<Uid>>>>,
    ) {
        let filter = Memo::new(move |_| address.filter());
        Effect::new(move |before: Option<Filter>| {
            let filter = filter.get();
            if before.as_ref() == Some(&filter) || address.selected.get_untracked().is_some() {
                return filter;
            }
            let found = if filter.is_empty() {
                if before.is_some() { HashSet::new() } else { active(scene) }
            } else {
                let lit = lit.get_untracked();
                lit.map(|lit| (*lit).clone()).unwrap_or_default()
            };
            // After the first sight has chosen its scale.
            request_animation_frame(move || {
                request_animation_frame(move || self.reveal_all(&found))
            });
            filter
        });
    }

    /// Scrolls to all of these cards, or to the first of them where they do not fit.
    fn reveal_all(self, uids: &HashSet<Uid>) {
        let Some(seen) = self.seen() else { return };
        let areas: Vec<Area> = self.drawing.with_untracked(|drawing| {
            let found = drawing.places().filter(|(uid, _)| uids.contains(uid));
            found.map(|(_, place)| place.area).collect()
        });
        let leftmost = areas.iter().min_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let Some(first) = leftmost.copied() else { return };
        let all = areas.iter().fold(first, |all, area| {
            let (x, y) = (all.x.min(area.x), all.y.min(area.y));
            Area {
                x,
                y,
                width: (all.x + all.width).max(area.x + area.width) - x,
                height: (all.y + all.height).max(area.y + area.height) - y,
            }
        });
        let fits = all.width + 48.0 <= seen.width && all.height + 48.0 <= seen.height;
        self.reveal_area(if fits { all } else { first });
    }

    /// Takes note of the visible part, with a margin of one screen; silent as long as the old margin is not used up.
    pub(super) fn moved(self) {
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
        // The page may have gone since the frame was asked for.
        let zoom = self.zoom.try_get_untracked()?;
        let frame = self.scroller.try_get_untracked().flatten()?;
        let (width, height) = (f64::from(frame.client_width()), f64::from(frame.client_height()));
        (width > 0.0 && height > 0.0).then(|| Area {
            x: f64::from(frame.scroll_left()) / zoom,
            y: f64::from(frame.scroll_top()) / zoom,
            width: width / zoom,
            height: height / zoom,
        })
    }

    pub(super) fn set(self, zoom: f64) {
        self.scale(zoom / self.zoom.get_untracked(), None);
    }

    /// Scales around a point of the frame, or its middle.
    pub(super) fn scale(self, by: f64, around: Option<(f64, f64)>) {
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
    pub(super) fn fit(self) {
        let Some(frame) = self.scroller.get_untracked() else { return };
        let (width, height) =
            self.drawing.with_untracked(|drawing| (drawing.layout.width, drawing.layout.height));
        let high = f64::from(frame.client_height() - NOTE);
        let zoom = (f64::from(frame.client_width()) / width).min(high / height);
        self.set(zoom.min(1.0));
    }

    /// A wheel scrolls; with the key that means zoom, and from a touchpad's pinch, it scales.
    pub(super) fn wheel(self, event: &WheelEvent) {
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
    pub(super) fn grab(self, event: &PointerEvent) {
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
    pub(super) fn pinch(self, event: &TouchEvent) {
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
        // The map may have gone since the frame was asked for.
        let place = self.drawing.try_with_untracked(|drawing| {
            drawing.places().find(|(key, _)| key == uid).map(|(_, place)| place.area)
        });
        if let Some(area) = place.flatten() {
            self.reveal_area(area);
        }
    }

    fn reveal_area(self, area: Area) {
        let (Some(frame), Some(seen)) = (self.scroller.get_untracked(), self.seen()) else {
            return;
        };
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
    pub(super) fn focus(self, uid: Uid) {
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

/// The objects whose deletion is in progress or needs attention.
fn active(scene: Scene) -> HashSet<Uid> {
    untrack(|| {
        scene.read(|records| {
            let active = scene::objects(records)
                .filter(|card| is_moving(card.state) || needs_attention(card.state));
            active.map(|card| card.uid.clone()).collect()
        })
    })
}
