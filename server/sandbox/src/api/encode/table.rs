//! `meta.k8s.io/v1 Table`: what `kubectl get` prints.

use serde_json::{Value, json};

use super::{Include, View, metadata_of};
use crate::api::columns;

/// A table of objects with this metadata. The columns are included only if requested.
pub(super) fn table<'a>(
    view: &View,
    objects: impl Iterator<Item = &'a Value>,
    include: Include,
    meta: &Value,
    with_columns: bool,
) -> Value {
    let columns = columns::of(&view.kind);
    let rows: Vec<Value> = objects
        .map(|object| {
            let cells: Vec<Value> =
                columns.iter().map(|column| column.cell(object, view.now)).collect();
            let shown = match include {
                Include::None => Value::Null,
                Include::Metadata => serde_json::to_value(metadata_of(object)).unwrap_or_default(),
                Include::Object => object.clone(),
            };
            json!({"cells": cells, "object": shown})
        })
        .collect();
    let mut table =
        json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "rows": rows});
    table["columnDefinitions"] = if with_columns {
        columns.iter().map(columns::Column::definition).collect()
    } else {
        Value::Null
    };
    table
}
