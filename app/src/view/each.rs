//! A list whose rows stay in the document as long as their keys stay. All lists are one type: the library's own list
//! costs the browser's half five kilobytes for each type of row.

use leptos::prelude::*;

/// A row to be: what tells it from the others, and how it is drawn if it is not there yet.
pub struct Row {
    key: String,
    draw: Box<dyn FnOnce() -> AnyView + Send>,
}

impl Row {
    /// A row.
    pub fn new<V: IntoView + 'static>(
        key: String,
        draw: impl FnOnce() -> V + Send + 'static,
    ) -> Self {
        Self { key, draw: Box::new(move || draw().into_any()) }
    }
}

/// The rows in their order.
pub fn each(rows: impl Fn() -> Vec<Row> + Send + Sync + 'static) -> AnyView {
    list(Box::new(rows))
}

fn list(rows: Box<dyn Fn() -> Vec<Row> + Send + Sync>) -> AnyView {
    view! { <For each=rows key=|row| row.key.clone() let:row>{(row.draw)()}</For> }.into_any()
}
