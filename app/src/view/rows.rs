//! A list of rows that come, go and move. Every list of the page is this one, with one type of key and one of row: Leptos'
//! own list costs the browser's half eleven kilobytes for each type that it is made for.

use std::sync::Arc;

use leptos::prelude::*;

/// A row that may be drawn already.
struct Row {
    key: String,
    draw: Box<dyn FnOnce() -> Option<AnyView> + Send>,
}

/// The rows of these items; an item that nothing is known of has none. A row is drawn once, and stays as long as an item
/// has its key.
pub fn rows<T: Clone + Send + Sync + 'static>(
    items: Memo<Vec<T>>,
    key: fn(&T) -> String,
    draw: impl Fn(T) -> Option<AnyView> + Send + Sync + 'static,
) -> AnyView {
    let draw = Arc::new(draw);
    let row = move |item: T| {
        let draw = draw.clone();
        Row { key: key(&item), draw: Box::new(move || draw(item)) }
    };
    keyed(Box::new(move || items.get().into_iter().map(&row).collect()))
}

fn keyed(rows: Box<dyn Fn() -> Vec<Row> + Send + Sync>) -> AnyView {
    view! { <For each=rows key=|row| row.key.clone() let:row>{(row.draw)()}</For> }.into_any()
}
