//! The times of the document in the reader's own zone. Server and first render print UTC; once the page is alive the
//! clock goes over all of them, so that no time needs a subscription of its own.

use js_sys::{Array, Date, Function, Intl::DateTimeFormat, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Element;

use crate::text;

/// The times that [`LocalTime::show_all`] looks for; `data-at` holds milliseconds since 1970.
const TIMES: &str = "[data-at]";
/// Holds the moment and the day for which an element was last written.
const WRITTEN: &str = "data-written";

/// Formats of the browser.
pub(super) struct LocalTime {
    day: Function,
    time: Function,
    moment: Function,
}

impl LocalTime {
    /// In the language of the page and the zone of the browser.
    pub(super) fn new() -> Self {
        const DAY: [(&str, &str); 3] =
            [("year", "numeric"), ("month", "short"), ("day", "numeric")];
        const TIME: [(&str, &str); 5] = [
            ("hour", "2-digit"),
            ("minute", "2-digit"),
            ("second", "2-digit"),
            ("hourCycle", "h23"),
            ("timeZoneName", "short"),
        ];
        Self {
            day: formatter(&DAY),
            time: formatter(&TIME),
            moment: formatter(&[&DAY[..], &TIME[..]].concat()),
        }
    }

    /// Writes all times of the document anew; `now` is in seconds since 1970.
    pub(super) fn show_all(&self, now: i64) {
        let Ok(times) = document().query_selector_all(TIMES) else { return };
        let today = written(&self.day, now as f64 * 1000.0);
        for number in 0..times.length() {
            if let Some(time) = times.get(number).and_then(|node| node.dyn_into::<Element>().ok()) {
                self.show(&time, now, &today);
            }
        }
    }

    fn show(&self, time: &Element, now: i64, today: &str) {
        let at = time.get_attribute("data-at").and_then(|at| at.parse::<i64>().ok());
        let Some(at) = at else { return };
        let seconds = now - at.div_euclid(1000);
        let written_for = format!("{at} {today}");
        let is_written = time.get_attribute(WRITTEN).is_some_and(|last| last == written_for);
        if !is_written {
            // Neither fails: the names are valid.
            let _ = time.set_attribute("title", &written(&self.moment, at as f64));
            let _ = time.set_attribute(WRITTEN, &written_for);
        }
        let text = if time.has_attribute("data-relative") {
            text::ago(seconds)
        } else if time.has_attribute("data-countdown") {
            text::countdown(seconds)
        } else if is_written {
            return;
        } else if written(&self.day, at as f64) == today {
            written(&self.time, at as f64)
        } else {
            written(&self.moment, at as f64)
        };
        // The text node stays the one that the view knows.
        if let Some(node) = time.first_child()
            && node.node_value().as_ref() != Some(&text)
        {
            node.set_node_value(Some(&text));
        }
    }
}

fn formatter(options: &[(&str, &str)]) -> Function {
    let map = Object::new();
    for (name, value) in options {
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&map, &JsValue::from_str(name), &JsValue::from_str(value));
    }
    DateTimeFormat::new(&Array::of1(&JsValue::from_str(text::LANGUAGE)), &map).format()
}

fn written(format: &Function, at: f64) -> String {
    let date = Date::new(&JsValue::from_f64(at));
    format.call1(&JsValue::NULL, &date).ok().and_then(|text| text.as_string()).unwrap_or_default()
}
