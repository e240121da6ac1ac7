//! The columns of tables, by kind (`kubernetes/pkg/printers/internalversion`).

mod administration;
mod autoscaler;
mod duration;
mod event;
mod json_path;
mod labels;
mod network;
mod node;
mod pod;
mod storage;
#[cfg(test)]
mod tests;
mod workload;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::duration::age;
use crate::{clock, kind::Kind, object, quantity::Quantity};

/// A column and the source of its cells.
pub(super) struct Column {
    name: Cow<'static, str>,
    sort: Cow<'static, str>,
    format: Cow<'static, str>,
    /// A column with a priority above zero is shown only with `-o wide`.
    priority: i64,
    cell: Cell,
}

enum Cell {
    Made(fn(&Value, Timestamp) -> Value),
    /// The value at a path that a CustomResourceDefinition names: `.spec.size`.
    At(String),
}

impl Column {
    const fn made(
        name: &'static str,
        sort: &'static str,
        priority: i64,
        cell: fn(&Value, Timestamp) -> Value,
    ) -> Self {
        let (name, sort) = (Cow::Borrowed(name), Cow::Borrowed(sort));
        Self { name, sort, format: Cow::Borrowed(""), priority, cell: Cell::Made(cell) }
    }

    /// A column whose cells are names.
    const fn naming(
        name: &'static str,
        priority: i64,
        cell: fn(&Value, Timestamp) -> Value,
    ) -> Self {
        let (name, sort) = (Cow::Borrowed(name), Cow::Borrowed("string"));
        Self { name, sort, format: Cow::Borrowed("name"), priority, cell: Cell::Made(cell) }
    }

    /// A column from `additionalPrinterColumns`.
    fn declared(column: &Value) -> Self {
        let text = |field: &str| Cow::Owned(object::text(column, &[field]).to_owned());
        Self {
            name: text("name"),
            sort: text("type"),
            format: text("format"),
            priority: column["priority"].as_i64().unwrap_or_default(),
            cell: Cell::At(text("jsonPath").into_owned()),
        }
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.cell {
            Cell::Made(make) => make(object, now),
            Cell::At(path) => match json_path::find(object, path).first() {
                Some(found) => self.declared_cell(found, now),
                None => Value::Null,
            },
        }
    }

    /// The cell for a value, according to the column's type; null if the value has another type (`cellForJSONValue`).
    fn declared_cell(&self, found: &Value, now: Timestamp) -> Value {
        match (&*self.sort, found) {
            ("string", Value::Null) => json!("<no value>"),
            ("string", Value::String(_)) => found.clone(),
            ("string", other) => json!(other.to_string()),
            #[expect(clippy::cast_possible_truncation, reason = "as the real one does")]
            ("integer", Value::Number(number)) => match number.as_f64() {
                Some(float) if number.is_f64() => json!(float as i64),
                _ => found.clone(),
            },
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => found.clone(),
            ("date", Value::String(_)) if clock::read(found).is_none() => json!("<invalid>"),
            ("date", Value::String(_)) => json!(age(found, now)),
            _ => Value::Null,
        }
    }

    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.sort, "format": self.format, "description": "",
            "priority": self.priority,
        })
    }
}

const fn text(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "string", 0, cell)
}

const fn wide(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "string", 1, cell)
}

const fn number(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "integer", 0, cell)
}

const fn boolean(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "boolean", 0, cell)
}

const NAME: Column = Column::naming("Name", 0, |object, _| json!(object::name(object)));
const AGE: Column =
    text("Age", |object, now| json!(age(&object["metadata"]["creationTimestamp"], now)));
const CREATED: Column = Column::made("Created At", "date", 0, |object, _| {
    object["metadata"]["creationTimestamp"].clone()
});

pub(super) fn of(kind: &Kind) -> Vec<Column> {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::columns(),
        ("", "nodes") => node::columns(),
        ("" | "events.k8s.io", "events") => event::columns(),
        ("autoscaling", "horizontalpodautoscalers") => autoscaler::columns(),
        ("", "namespaces") => {
            vec![NAME, text("Status", |one, _| json!(object::text(one, &["status", "phase"]))), AGE]
        }
        ("", "configmaps") => vec![
            NAME,
            text("Data", |one, _| json!(size(&one["data"]) + size(&one["binaryData"]))),
            AGE,
        ],
        ("", "secrets") => vec![
            NAME,
            text("Type", |one, _| json!(object::text(one, &["type"]))),
            text("Data", |one, _| json!(size(&one["data"]))),
            AGE,
        ],
        _ => workload::of(kind)
            .or_else(|| network::of(kind))
            .or_else(|| storage::of(kind))
            .or_else(|| administration::of(kind))
            .unwrap_or_else(|| declared(kind)),
    }
}

/// The columns that a CustomResourceDefinition declares; without any, name and age.
fn declared(kind: &Kind) -> Vec<Column> {
    let columns = kind.declared["additionalPrinterColumns"].as_array();
    match columns.filter(|columns| !columns.is_empty()) {
        Some(columns) => {
            std::iter::once(NAME).chain(columns.iter().map(Column::declared)).collect()
        }
        None if kind.is_custom() => vec![NAME, Column { sort: Cow::Borrowed("date"), ..AGE }],
        None => vec![NAME, AGE],
    }
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn length(value: &Value) -> usize {
    list(value).len()
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// A quantity in canonical form; `0` if it is absent.
fn amount(value: &Value) -> String {
    Quantity::from_value(value).unwrap_or(Quantity::ZERO).to_string()
}

/// A string, or the text that stands for an empty one.
fn text_or(value: &Value, instead: &str) -> Value {
    json!(value.as_str().filter(|text| !text.is_empty()).unwrap_or(instead))
}

/// A string, which may be empty, or `<unset>` if it is absent.
fn or_unset(value: &Value) -> Value {
    json!(value.as_str().unwrap_or("<unset>"))
}

/// The name of a class, marked as the default if one of these annotations says so.
fn name_of_class(class: &Value, annotations: &[&str]) -> Value {
    let says = |&name: &&str| object::text(class, &["metadata", "annotations", name]) == "true";
    let mark = if annotations.iter().any(says) { " (default)" } else { "" };
    json!(format!("{}{mark}", object::name(class)))
}
