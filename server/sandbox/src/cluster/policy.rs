//! ValidatingAdmissionPolicies: expressions that a write must satisfy if a binding requires it.

mod cost;

use std::{collections::HashMap, sync::Arc, thread};

use cel::{Context, Program, Value as Term};
use cost::Meter;
use serde_json::{Value, json};

use super::{Cluster, admission::Attributes, scale};
use crate::{
    object,
    selector::Labels,
    status::{Cause, Status},
    store::Key,
};

const GROUP: &str = "admissionregistration.k8s.io";
/// The length of an expression, in characters, above which it is refused.
const LONGEST: usize = 4 * 1024;
/// The stack for parsing and evaluating, in bytes: nesting within the length above needs a fraction of it.
const STACK: usize = 256 * 1024 * 1024;

/// A policy that applies to a request.
struct Bound<'a> {
    policy: &'a Value,
    binding: &'a str,
    /// The parameters: the policy is evaluated once with each, or with null if it has none. The error is the reason why
    /// it cannot be evaluated.
    params: Result<Vec<&'a Value>, &'static str>,
}

impl Cluster {
    /// Evaluates every policy that a binding enforces.
    pub(super) fn ask_policies(&self, asked: &Attributes<'_>) -> Result<(), Status> {
        let mut bound = vec![];
        for binding in self.list(GROUP, "validatingadmissionpolicybindings", None) {
            if !object::texts(binding, &["spec", "validationActions"]).any(|it| it == "Deny") {
                continue;
            }
            let name = object::text(binding, &["spec", "policyName"]);
            let key = Key::new(GROUP, "validatingadmissionpolicies", "", name);
            let Some(policy) = self.get(&key) else { continue };
            let constraints = &policy["spec"]["matchConstraints"];
            let narrower = &binding["spec"]["matchResources"];
            let fits = |place: &Value| {
                let rules = &place["resourceRules"];
                // A binding without rules restricts by its selectors alone.
                let is_open = rules.as_array().is_none_or(Vec::is_empty);
                (is_open || self.is_about(rules, asked))
                    && !self.is_about(&place["excludeResourceRules"], asked)
                    && self.is_selected(place, asked)
            };
            if fits(constraints) && fits(narrower) {
                let params = self.params(&policy["spec"]["paramKind"], binding, asked);
                bound.push(Bound { policy, binding: object::name(binding), params });
            }
        }
        if bound.is_empty() {
            return Ok(());
        }
        let all = || {
            let terms = self.terms(asked);
            bound.iter().try_for_each(|one| match &one.params {
                Ok(all) => all.iter().try_for_each(|params| one.ask(asked, &terms, params)),
                Err(_) if one.policy["spec"]["failurePolicy"] == "Ignore" => Ok(()),
                Err(why) => {
                    let why = format!("failed to configure binding: {why}");
                    Err(one.denied(asked, &Value::Null, &why))
                }
            })
        };
        let broken = || Status::internal("the policies could not be evaluated");
        on_a_stack_of_its_own(all).unwrap_or_else(|| Err(broken()))
    }

    /// Whether the `matchConditions` of a webhook hold, or the reason why that is unknown.
    pub(super) fn conditions_hold(
        &self,
        conditions: &Value,
        asked: &Attributes<'_>,
    ) -> Result<bool, String> {
        if conditions.as_array().is_none_or(Vec::is_empty) {
            return Ok(true);
        }
        let judge = || {
            let meter = Meter::default();
            let mut context = meter.context();
            for (name, term) in self.terms(asked) {
                context.add_variable_from_value(name, term);
            }
            all_hold(conditions, &context, &meter)
        };
        on_a_stack_of_its_own(judge)
            .unwrap_or_else(|| Err("they could not be evaluated".to_owned()))
    }

    /// The parameters that a binding gives its policy, or the reason why there are none
    /// (`apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go`).
    fn params(
        &self,
        kind: &Value,
        binding: &Value,
        asked: &Attributes<'_>,
    ) -> Result<Vec<&Value>, &'static str> {
        let reference = &binding["spec"]["paramRef"];
        if kind.is_null() || reference.is_null() {
            return Ok(vec![&Value::Null]);
        }
        let (group, _) = super::split_api_version(object::text(kind, &["apiVersion"]));
        let kind = self.kinds.by_kind(group, object::text(kind, &["kind"]));
        let kind = kind.ok_or("paramKind kind is not known")?;
        let namespace = match object::text(reference, &["namespace"]) {
            "" if !kind.namespaced => None,
            _ if !kind.namespaced => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
                );
            }
            "" if asked.key.namespace.is_empty() => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
                );
            }
            "" => Some(&*asked.key.namespace),
            namespace => Some(namespace),
        };
        let name = object::text(reference, &["name"]);
        let selected = Labels::from_object(&reference["selector"]);
        let is_meant = |one: &&Arc<Value>| match name {
            "" => selected.as_ref().is_some_and(|labels| labels.matches(one)),
            name => object::name(one) == name,
        };
        let all = self.list(&kind.group, &kind.plural, namespace).filter(is_meant);
        let all: Vec<&Value> = all.map(|one| &**one).collect();
        if all.is_empty() && reference["parameterNotFoundAction"] == "Deny" {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction");
        }
        Ok(all)
    }

    /// The variables of expressions.
    fn terms(&self, asked: &Attributes<'_>) -> HashMap<&'static str, Term> {
        let Attributes { actor, write, operation, key, name, subresource, object, existing } =
            *asked;
        let kind = self.kinds.get(&key.group, &key.plural);
        let [version, kind] = kind.map_or(["", ""], |kind| [&*kind.version, &*kind.kind]);
        let of = match subresource {
            scale::SUBRESOURCE => scale::KIND,
            _ => [&*key.group, version, kind],
        };
        let request = json!({
            "kind": {"group": of[0], "version": of[1], "kind": of[2]},
            "resource": {"group": &*key.group, "version": version, "resource": &*key.plural},
            "subResource": subresource,
            "name": name,
            "namespace": &*key.namespace,
            "operation": operation.name(),
            "userInfo": {"username": actor.name, "uid": actor.uid, "groups": actor.groups, "extra": actor.extra},
            "dryRun": write.dry_run,
        });
        let namespace = self.get(&Key::new("", "namespaces", "", &key.namespace));
        HashMap::from([
            ("object", term(object)),
            ("oldObject", existing.map_or(Term::Null, term)),
            ("request", term(&request)),
            ("namespaceObject", namespace.map_or(Term::Null, |namespace| term(namespace))),
        ])
    }
}

/// Evaluates on a thread with a large stack. `None` if the evaluation panicked or the thread could not be started.
fn on_a_stack_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.ok().and_then(|thread| thread.join().ok())
    })
}

impl Bound<'_> {
    fn ask(
        &self,
        asked: &Attributes<'_>,
        terms: &HashMap<&'static str, Term>,
        params: &Value,
    ) -> Result<(), Status> {
        let spec = &self.policy["spec"];
        let meter = Meter::default();
        let mut context = meter.context();
        context.add_variable_from_value("params", term(params));
        for (name, term) in terms {
            context.add_variable_from_value(*name, term.clone());
        }
        let each = |list: &str| spec[list].as_array().cloned().unwrap_or_default();
        let fails = spec["failurePolicy"] != "Ignore";
        match all_hold(&spec["matchConditions"], &context, &meter) {
            Ok(true) => {}
            Err(why) if fails => return Err(self.denied(asked, &Value::Null, &why)),
            Ok(false) | Err(_) => return Ok(()),
        }
        // Each variable may use the variables before it.
        let mut variables: HashMap<String, Term> = HashMap::new();
        for variable in each("variables") {
            let expression = object::text(&variable, &["expression"]);
            if let Ok(term) = evaluated(expression, &context, &meter) {
                variables.insert(object::text(&variable, &["name"]).to_owned(), term);
                context.add_variable_from_value("variables", variables.clone());
            }
        }
        for validation in each("validations") {
            match judged(&validation, &context, &meter) {
                Ok(true) => {}
                Ok(false) => {
                    return Err(self.denied(
                        asked,
                        &validation,
                        &said(&validation, &context, &meter),
                    ));
                }
                Err(_) if !fails => {}
                Err(why) => return Err(self.denied(asked, &validation, &why)),
            }
        }
        Ok(())
    }

    fn denied(&self, asked: &Attributes<'_>, validation: &Value, why: &str) -> Status {
        let Key { group, plural, .. } = asked.key;
        let name = if asked.name.is_empty() { "Unknown" } else { asked.name };
        let why = format!(
            "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {why}",
            object::name(self.policy),
            self.binding
        );
        let (code, reason) = match object::text(validation, &["reason"]) {
            "Forbidden" => (403, "Forbidden"),
            "Unauthorized" => (401, "Unauthorized"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        let cause = Cause { reason: String::new(), message: why.clone(), field: String::new() };
        Status::forbidden(group, plural, name, &why).because(cause).instead(code, reason)
    }
}

/// Whether all conditions hold, or the reason why that is unknown. A condition that does not hold decides, even if
/// others have errors.
fn all_hold(conditions: &Value, context: &Context<'_, '_>, meter: &Meter) -> Result<bool, String> {
    let mut unclear = Ok(true);
    for condition in conditions.as_array().into_iter().flatten() {
        match judged(condition, context, meter) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => unclear = unclear.and(Err(why)),
        }
    }
    unclear
}

/// The value of an expression in a list, or the reason why it has none.
fn judged(one: &Value, context: &Context<'_, '_>, meter: &Meter) -> Result<bool, String> {
    let expression = object::text(one, &["expression"]);
    let why = match evaluated(expression, context, meter) {
        Ok(Term::Bool(is)) => return Ok(is),
        Ok(_) => "it is neither true nor false".to_owned(),
        Err(why) => why,
    };
    Err(format!("expression '{expression}' resulted in error: {why}"))
}

fn evaluated(expression: &str, context: &Context<'_, '_>, meter: &Meter) -> Result<Term, String> {
    if expression.len() > LONGEST {
        return Err("it is too long".to_owned());
    }
    let program = Program::compile(expression).map_err(|error| error.to_string())?;
    meter.run(&program, context)
}

/// The message of a validation that fails.
fn said(validation: &Value, context: &Context<'_, '_>, meter: &Meter) -> String {
    if let Ok(Term::String(message)) =
        evaluated(object::text(validation, &["messageExpression"]), context, meter)
    {
        return message.to_string();
    }
    match object::text(validation, &["message"]).trim() {
        "" => format!("failed expression: {}", object::text(validation, &["expression"]).trim()),
        message => message.to_owned(),
    }
}

/// Converts JSON to a CEL value. Integers are signed, as in Go.
fn term(value: &Value) -> Term {
    match value {
        Value::Null => Term::Null,
        Value::Bool(is) => Term::Bool(*is),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Term::Int(whole),
            None => Term::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Term::String(Arc::new(text.clone())),
        Value::Array(list) => Term::List(Arc::new(list.iter().map(term).collect())),
        Value::Object(map) => {
            let map: HashMap<String, Term> =
                map.iter().map(|(key, value)| (key.clone(), term(value))).collect();
            map.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsensical_policy_is_an_error() {
        let nested = |open: &str, close: &str| {
            let times = LONGEST / 2 / open.len().max(close.len());
            format!("{}1{}", open.repeat(times), close.repeat(times))
        };
        for expression in [
            String::new(),
            "x".repeat(LONGEST + 1),
            nested("(", ")"),
            nested("[", "]"),
            nested("{1:", "}"),
            nested("!", ""),
            nested("-", ""),
            nested("", ".a"),
            nested("true ? 1 : ", ""),
            nested("1 + ", ""),
            "\u{0}\u{202e}'".to_owned(),
            "1 / 0".to_owned(),
            "9223372036854775807 + 1".to_owned(),
            "[1][5]".to_owned(),
            "'a'.matches('(')".to_owned(),
            "size()".to_owned(),
            "request".to_owned(),
        ] {
            let said = on_a_stack_of_its_own(|| {
                let meter = Meter::default();
                match evaluated(&expression, &meter.context(), &meter) {
                    Ok(Term::Bool(is)) => Ok(is),
                    Ok(_) => Err("neither".to_owned()),
                    Err(why) => Err(why),
                }
            });
            assert!(matches!(said, Some(Err(_))), "{expression:.40}: {said:?}");
        }
    }
}
