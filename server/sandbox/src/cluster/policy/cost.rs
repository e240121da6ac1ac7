//! The cost limit of CEL expressions: every element that an expression visits or passes to a function counts, and an
//! expression beyond the limit is cancelled. No clock is read, so the same expression always ends in the same way.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use cel::{
    Context, ExecutionError, IdedExpr, Program, Value as Term,
    common::ast::{CallExpr, EntryExpr, Expr, operators as op},
};

/// The largest cost of one expression: `PerCallLimit` in apiserver/pkg/apis/cel.
const LIMIT: u64 = 1_000_000;
/// The cost of one iteration of a comprehension, in addition to its body.
const TURN: u64 = 4;
/// The number of bytes of text that cost as much as one value.
const TEXT: u64 = 10;

/// Functions that no expression can call, because their names cannot be written.
const CHARGE: &str = "@charge";
const EACH: &str = "@each";

/// Operators that select values without reading them.
const FREE: [&str; 8] = [
    op::LOGICAL_AND,
    op::LOGICAL_OR,
    op::LOGICAL_NOT,
    op::CONDITIONAL,
    op::INDEX,
    op::OPT_INDEX,
    op::OPT_SELECT,
    op::NOT_STRICTLY_FALSE,
];

/// The variables that every expression has.
const VARIABLES: [&str; 6] =
    ["object", "oldObject", "request", "params", "namespaceObject", "variables"];

/// Counts the cost of expressions.
#[derive(Debug, Default)]
pub(super) struct Meter(Arc<AtomicU64>);

impl Meter {
    /// A context in which the meter counts.
    pub(super) fn context<'v>(&self) -> Context<'static, 'v> {
        let mut context = Context::default();
        let count = |weight: fn(&Term) -> u64| {
            let spent = self.0.clone();
            move |value: Term| {
                let weight = weight(&value);
                let before = spent.fetch_add(weight, Relaxed);
                let left = LIMIT.saturating_sub(before);
                // The message is empty, because `run` reports the limit in its own words.
                if weight > left {
                    Err(ExecutionError::function_error(CHARGE, ""))
                } else {
                    Ok(value)
                }
            }
        };
        let added = context.add_function(CHARGE, count(size));
        let added = added.and(context.add_function(EACH, count(turns)));
        debug_assert!(added.is_ok(), "{added:?}");
        context
    }

    /// Evaluates an expression in such a context, or returns the reason why it has no value.
    pub(super) fn run(&self, program: &Program, context: &Context<'_, '_>) -> Result<Term, String> {
        let mut expression = program.expression().clone();
        let mut names: BTreeSet<String> = VARIABLES.map(String::from).into();
        walk(&mut expression, &mut |part| bound(part, &mut names));
        walk(&mut expression, &mut |part| meter(part, &names));
        self.0.store(0, Relaxed);
        let given = Term::resolve(&expression, context);
        // The expression may have gone on after the error, so the counter decides.
        if self.0.load(Relaxed) > LIMIT {
            return Err("operation cancelled: actual cost limit exceeded".to_owned());
        }
        given.map_err(|error| match error {
            ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
            error => error.to_string(),
        })
    }
}

/// The cost of passing a value to a function.
fn size(value: &Term) -> u64 {
    1 + match value {
        Term::List(list) => list.iter().map(size).sum(),
        Term::Map(map) => map.map.values().map(size).sum(),
        Term::String(text) => text.len() as u64 / TEXT,
        Term::Bytes(bytes) => bytes.len() as u64 / TEXT,
        _ => 0,
    }
}

/// The cost of iterating over a value.
fn turns(value: &Term) -> u64 {
    TURN + TURN
        * match value {
            Term::List(list) => list.len() as u64,
            Term::Map(map) => map.map.len() as u64,
            _ => 0,
        }
}

/// Visits every part of an expression, inner parts first.
fn walk(expression: &mut IdedExpr, see: &mut impl FnMut(&mut Expr)) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| walk(target, see));
            call.args.iter_mut().for_each(|argument| walk(argument, see));
        }
        Expr::Comprehension(one) => {
            for part in [
                &mut one.iter_range,
                &mut one.accu_init,
                &mut one.loop_cond,
                &mut one.loop_step,
                &mut one.result,
            ] {
                walk(part, see);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|one| walk(one, see)),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| walk_entry(&mut entry.expr, see)),
        Expr::Struct(one) => {
            one.entries.iter_mut().for_each(|entry| walk_entry(&mut entry.expr, see));
        }
        Expr::Select(select) => walk(&mut select.operand, see),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
    see(&mut expression.expr);
}

fn walk_entry(entry: &mut EntryExpr, see: &mut impl FnMut(&mut Expr)) {
    match entry {
        EntryExpr::StructField(field) => walk(&mut field.value, see),
        EntryExpr::MapEntry(entry) => {
            walk(&mut entry.key, see);
            walk(&mut entry.value, see);
        }
    }
}

/// Collects the names that comprehensions bind.
fn bound(part: &Expr, names: &mut BTreeSet<String>) {
    if let Expr::Comprehension(one) = part {
        names.insert(one.iter_var.clone());
        names.extend(one.iter_var2.clone());
    }
}

/// Makes the range of a comprehension and the arguments of a function count.
fn meter(part: &mut Expr, names: &BTreeSet<String>) {
    match part {
        Expr::Comprehension(one) => wrap(&mut one.iter_range, EACH),
        Expr::Call(call) if !FREE.contains(&call.func_name.as_str()) => {
            let target = call.target.iter_mut().map(|target| &mut **target);
            for given in target.chain(&mut call.args).filter(|given| is_value(given, names)) {
                wrap(given, CHARGE);
            }
        }
        _ => {}
    }
}

/// Whether an argument is computed. A literal is not, because the length of the expression bounds it, and neither is
/// the name of a type, of a package, or of a comprehension's accumulator.
fn is_value(given: &IdedExpr, names: &BTreeSet<String>) -> bool {
    match &given.expr {
        Expr::Ident(name) => names.contains(name),
        Expr::Select(select) => is_value(&select.operand, names),
        // A type cannot be passed to a function.
        Expr::Call(call) => call.func_name != "type",
        Expr::Comprehension(_) => true,
        _ => false,
    }
}

fn wrap(expression: &mut IdedExpr, function: &str) {
    let inner = std::mem::take(expression);
    let call = CallExpr { func_name: function.into(), target: None, args: vec![inner] };
    expression.expr = Expr::Call(call);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn given(expression: &str, object: &Value) -> Result<Term, String> {
        let program = Program::compile(expression).unwrap();
        let run = || {
            let meter = Meter::default();
            let mut context = meter.context();
            context.add_variable_from_value("object", super::super::term(object));
            meter.run(&program, &context)
        };
        super::super::on_a_stack_of_its_own(run).unwrap()
    }

    #[test]
    fn counting_changes_nothing() {
        let object = json!({
            "a": "text", "n": 3, "list": [1, 2, 3], "map": {"x": 1, "y": 2}, "words": ["one", "two"],
        });
        for expression in [
            "object.list.all(it, it > 0)",
            "object.list.exists(it, it == 2)",
            "object.list.exists_one(it, it == 2)",
            "object.list.map(it, it * 2) == [2, 4, 6]",
            "object.list.map(it, it > 1, it * 2) == [4, 6]",
            "object.list.filter(it, it > 1) == [2, 3]",
            "object.map.all(key, object.map[key] > 0)",
            "object.words.all(word, object.words.exists(other, word == other))",
            "object.a.contains('ex') && object.a.startsWith('t') && object.a.matches('^t.*t$')",
            "object.a + '!' == 'text!' && size(object.a) == 4 && object.list.size() == object.n",
            "has(object.a) && !has(object.b) && 'x' in object.map && 2 in object.list",
            "type(object.n) == int && string(object.n) == '3' && int('3') == object.n",
            "(object.n == 3 ? object.list : object.words)[0] == 1",
            "[object.n, 4].size() == 2 && {'a': object.n}.a == 3",
            "object == object && object.list + [4] == [1, 2, 3, 4]",
            "bytes(object.a) == b'text' && double(object.n) == 3.0 && uint(object.n) == 3u",
            "dyn(object.n) == 3 && object.words.map(it, size(it)).exists(it, it == 3)",
        ] {
            assert!(matches!(given(expression, &object), Ok(Term::Bool(true))), "{expression}");
        }
        assert_eq!(given("object.none == 1", &object), Err("no such key: none".into()));
    }

    #[test]
    fn expression_over_its_cost_is_ended() {
        let numbers = json!({"list": (0..300).collect::<Vec<_>>(), "long": "x".repeat(1_000_000)});
        let ended = Err("operation cancelled: actual cost limit exceeded".to_owned());
        let nested = |names: &str, last: &str| {
            let around = |inner: String, name| format!("object.list.all({name}, {inner})");
            names.chars().fold(last.to_owned(), around)
        };
        assert!(matches!(given(&nested("ab", "true"), &numbers), Ok(Term::Bool(true))));
        assert_eq!(given(&nested("abc", "true"), &numbers), ended);
        assert_eq!(given(&nested("abcdefgh", "true"), &numbers), ended);
        // Going on after the error does not help.
        assert_eq!(given(&format!("{} || true", nested("abc", "true")), &numbers), ended);
        assert_eq!(given(&nested("ab", "!object.long.contains('y')"), &numbers), ended);
        let sum = vec!["object.long"; 300].join(" + ");
        assert_eq!(given(&format!("size({sum}) > 0"), &numbers), ended);
        assert_eq!(given("object.list.map(it, object.long + 'y').size() > 0", &numbers), ended);
    }
}
