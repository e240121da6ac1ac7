//! What the library makes anew for each closure it is given, made once: here closures are boxed first. A closure in a
//! view costs the browser's half a kilobyte less, an effect as much, and there are a hundred.

use leptos::prelude::*;

/// A part of a view that is drawn again when a signal it reads changes.
pub fn now<V: IntoView + 'static>(mut draw: impl FnMut() -> V + Send + 'static) -> AnyView {
    let draw: Box<dyn FnMut() -> AnyView + Send> = Box::new(move || draw().into_any());
    draw.into_any()
}

/// Acts once the page is alive, and again when a signal that was read changes; never on the server.
pub fn alive(act: impl FnMut() + 'static) {
    let act: Box<dyn FnMut()> = Box::new(act);
    Effect::new(act);
}

/// A value derived from signals that wakes only when it differs.
pub fn memo<T: PartialEq + Send + Sync + 'static>(
    derive: impl Fn() -> T + Send + Sync + 'static,
) -> Memo<T> {
    let derive: Box<dyn Fn() -> T + Send + Sync> = Box::new(derive);
    Memo::new(move |_| derive())
}
