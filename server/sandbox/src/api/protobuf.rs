//! Kubernetes' protobuf encoding, read only, for the bodies that kubectl sends: reviews, evictions, and the objects
//! that `kubectl create` makes without a file. A field that is not empty and not in this table is refused, never
//! dropped.

use serde_json::{Map, Value, json};

/// The prefix of a body in protobuf, before a `runtime.Unknown`.
const MAGIC: &[u8] = b"k8s\0";
/// The largest depth to which messages may nest.
const DEPTH: usize = 32;

/// Each line is a message, then its fields as `number:name:type`. Types: `s` is a string; `i` and `b` are a number and
/// a boolean whose zero means "not set"; `I` and `B` are the same with a zero that counts; `t` is a time; `n` is a
/// number or a string; `m` is a map of strings; any other type is a message's name. A `*` before a type means that the
/// field repeats. From the `generated.proto` files of `k8s.io/api` and `k8s.io/apimachinery`.
const SCHEMA: &str = "
Unknown 1:typeMeta:TypeMeta 2:raw:raw
TypeMeta 1:apiVersion:s 2:kind:s
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:t \
9:deletionTimestamp:t 10:deletionGracePeriodSeconds:I 11:labels:m 12:annotations:m 13:ownerReferences:*OwnerReference \
14:finalizers:*s
OwnerReference 1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:B 7:blockOwnerDeletion:B
LabelSelector 1:matchLabels:m 2:matchExpressions:*LabelSelectorRequirement
LabelSelectorRequirement 1:key:s 2:operator:s 3:values:*s
DeleteOptions 1:gracePeriodSeconds:I 2:preconditions:Preconditions 3:orphanDependents:B 4:propagationPolicy:s 5:dryRun:*s
Preconditions 1:uid:s 2:resourceVersion:s
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
SelfSubjectReview 1:metadata:ObjectMeta
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SubjectAccessReviewSpec
LocalSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SubjectAccessReviewSpec
SubjectAccessReview 1:metadata:ObjectMeta 2:spec:SubjectAccessReviewSpec
SubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes 3:user:s \
4:groups:*s 6:uid:s
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s
NonResourceAttributes 1:path:s 2:verb:s
SelfSubjectRulesReview 1:metadata:ObjectMeta 2:spec:SelfSubjectRulesReviewSpec
SelfSubjectRulesReviewSpec 1:namespace:s
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec
NamespaceSpec 1:finalizers:*s
Binding 1:metadata:ObjectMeta 2:target:ObjectReference
ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
ConfigMap 1:metadata:ObjectMeta 2:data:m 4:immutable:B
ServiceAccount 1:metadata:ObjectMeta 4:automountServiceAccountToken:B
Scale 1:metadata:ObjectMeta 2:spec:ScaleSpec
ScaleSpec 1:replicas:I
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec
DeploymentSpec 1:replicas:I 2:selector:LabelSelector 3:template:PodTemplateSpec 6:revisionHistoryLimit:I 7:paused:b
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
Pod 1:metadata:ObjectMeta 2:spec:PodSpec
PodSpec 2:containers:*Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:I 8:serviceAccountName:s 10:nodeName:s
Container 1:name:s 2:image:s 3:command:*s 4:args:*s 14:imagePullPolicy:s
TokenRequest 1:metadata:ObjectMeta 2:spec:TokenRequestSpec
TokenRequestSpec 1:audiences:*s 4:expirationSeconds:I
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec
PodDisruptionBudgetSpec 1:minAvailable:n 2:selector:LabelSelector 3:maxUnavailable:n
IntOrString 1:type:i 2:number:I 3:text:s
Job 1:metadata:ObjectMeta 2:spec:JobSpec
JobSpec 1:parallelism:I 2:completions:I 3:activeDeadlineSeconds:I 4:selector:LabelSelector 5:manualSelector:B \
6:template:PodTemplateSpec 7:backoffLimit:I
Role 1:metadata:ObjectMeta 2:rules:*PolicyRule
ClusterRole 1:metadata:ObjectMeta 2:rules:*PolicyRule
PolicyRule 1:verbs:*s 2:apiGroups:*s 3:resources:*s 4:resourceNames:*s 5:nonResourceURLs:*s
RoleBinding 1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s
";

/// Decodes a body. `None` if it is malformed, or if the table does not have its kind or one of its fields.
pub(super) fn read(body: &[u8]) -> Option<Value> {
    let unknown = message("Unknown", body.strip_prefix(MAGIC)?, DEPTH)?;
    let meta = &unknown["typeMeta"];
    let raw: Vec<u8> = unknown["raw"]
        .as_array()?
        .iter()
        .filter_map(Value::as_u64)
        .filter_map(|byte| u8::try_from(byte).ok())
        .collect();
    let mut object = message(meta["kind"].as_str()?, &raw, DEPTH)?;
    object["kind"] = meta["kind"].clone();
    object["apiVersion"] = meta["apiVersion"].clone();
    Some(object)
}

fn message(name: &str, bytes: &[u8], depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let line = SCHEMA.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    let mut object = Map::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, field) = next(&mut rest)?;
        let known = line.split_whitespace().skip(1).find_map(|column| {
            let mut parts = column.split(':');
            let same = parts.next()?.parse() == Ok(number);
            same.then(|| parts.next().zip(parts.next()))?
        });
        let Some((name, sort)) = known else {
            // An unknown field without content loses nothing.
            if field.says_nothing(depth) {
                continue;
            }
            return None;
        };
        match sort.strip_prefix('*') {
            Some(sort) => {
                let list = object.entry(name).or_insert_with(|| json!([]));
                list.as_array_mut()?.push(value(sort, field, depth)?);
            }
            None if sort == "m" => {
                let pair = entry(field)?;
                object
                    .entry(name)
                    .or_insert_with(|| json!({}))
                    .as_object_mut()?
                    .insert(pair.0, json!(pair.1));
            }
            None if field.is_empty() && ["s", "i", "b", "t"].contains(&sort) => {}
            None => _ = object.insert(name.into(), value(sort, field, depth)?),
        }
    }
    Some(Value::Object(object))
}

fn value(sort: &str, field: Field<'_>, depth: usize) -> Option<Value> {
    match (sort, field) {
        ("s", Field::Bytes(bytes)) => Some(json!(std::str::from_utf8(bytes).ok()?)),
        ("raw", Field::Bytes(bytes)) => Some(json!(bytes)),
        ("i" | "I", Field::Number(number)) => Some(json!(number.cast_signed())),
        ("b" | "B", Field::Number(number)) => Some(json!(number != 0)),
        ("t", Field::Bytes(mut bytes)) => {
            let Some((1, Field::Number(seconds))) = next(&mut bytes) else { return None };
            Some(crate::clock::written(jiff::Timestamp::from_second(seconds.cast_signed()).ok()?))
        }
        ("n", Field::Bytes(bytes)) => {
            let either = message("IntOrString", bytes, depth)?;
            Some(if either["type"] == 1 {
                either["text"].clone()
            } else {
                either["number"].clone()
            })
        }
        (name, Field::Bytes(bytes)) => message(name, bytes, depth),
        _ => None,
    }
}

fn entry(field: Field<'_>) -> Option<(String, String)> {
    let Field::Bytes(mut bytes) = field else { return None };
    let (mut key, mut text) = (String::new(), String::new());
    while !bytes.is_empty() {
        match next(&mut bytes)? {
            (1, Field::Bytes(bytes)) => key = std::str::from_utf8(bytes).ok()?.into(),
            (2, Field::Bytes(bytes)) => text = std::str::from_utf8(bytes).ok()?.into(),
            _ => return None,
        }
    }
    Some((key, text))
}

#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Field<'_> {
    fn is_empty(self) -> bool {
        match self {
            Self::Number(number) => number == 0,
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// Whether the field is empty, or a message that has only such fields.
    fn says_nothing(self, depth: usize) -> bool {
        let (Self::Bytes(mut bytes), Some(depth)) = (self, depth.checked_sub(1)) else {
            return self.is_empty();
        };
        while !bytes.is_empty() {
            if !next(&mut bytes).is_some_and(|(_, field)| field.says_nothing(depth)) {
                return false;
            }
        }
        true
    }
}

/// Reads the next field of a message.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let tag = varint(bytes)?;
    let field = match tag & 7 {
        0 => Field::Number(varint(bytes)?),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (value, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Field::Bytes(value)
        }
        _ => return None,
    };
    Some((tag >> 3, field))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn body_from_kubectl_is_read() {
        let meta = b"\x0a\x09policy/v1\x12\x08Eviction";
        let raw = b"\x0a\x06\x0a\x01a\x12\x01\x00\x12\x02\x08\x00";
        let mut body = MAGIC.to_vec();
        body.extend([0x0a, u8::try_from(meta.len()).unwrap()]);
        body.extend(meta);
        // ObjectMeta {name: "a", generateName: "\0"}, DeleteOptions {gracePeriodSeconds: 0}
        body.extend([0x12, u8::try_from(raw.len()).unwrap()]);
        body.extend(raw);
        let object = read(&body).unwrap();
        assert_eq!(object["deleteOptions"], json!({"gracePeriodSeconds": 0}));
        assert_eq!(object["metadata"]["name"], "a");
        assert_eq!(object["kind"], "Eviction");
    }

    proptest! {
        #[test]
        fn nonsense_is_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&body);
            let _ = read(&[MAGIC, &body].concat());
            let _ = message("Deployment", &body, DEPTH);
        }
    }
}
