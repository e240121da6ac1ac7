//! Kinds of which only the names matter that their specs refer to: classes, routes, admission policies and custom resources. Of
//! widespread projects there is a table of the fields that name something; of all other custom resources, [`custom`] guesses.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use teardown::{
    object::{Condition, Facts, Kind, Reference, References},
    selector::{Labels, Selector},
};

use super::{
    Meta, Unreadable, custom, data_policy,
    extension::Conditions,
    names::{Names, group_of, is_name},
    path::visit,
};

/// The way in which a field names something.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A text: the name.
    Name,
    /// A text: the name, or `NAMESPACE/NAME`.
    Path,
    /// An object with `name`, and perhaps `namespace`, `kind`, and `group`, `apiGroup` or `apiVersion`.
    Object,
    /// An object with `apiVersion` and `kind`, and no name.
    Kind,
    /// A text: the host of a Service, short or as `NAME.NAMESPACE.svc.DOMAIN`.
    Host,
    /// A text: the Secret with a certificate of Istio, as its name or as `kubernetes://NAMESPACE/NAME`, or a ConfigMap.
    Credential,
}

/// A field of a spec: its path, its form, and the group and kind of what it names, unless it says them.
pub(super) type Field = (&'static str, Form, &'static str, &'static str);

const ADMISSION: &str = "admissionregistration.k8s.io";
const CERTIFICATES: &str = "cert-manager.io";
const DEVICES: &str = "resource.k8s.io";
const GATEWAY: &str = "gateway.networking.k8s.io";
const ISTIO: &str = "networking.istio.io";
const SECRETS: &str = "external-secrets.io";

const ROUTE: &[Field] = &[
    ("parentRefs[]", Form::Object, GATEWAY, "Gateway"),
    ("rules[].backendRefs[]", Form::Object, "", "Service"),
    ("rules[].backendRefs[].filters[].requestMirror.backendRef", Form::Object, "", "Service"),
    ("rules[].filters[].requestMirror.backendRef", Form::Object, "", "Service"),
];
const DEVICE_REQUESTS: &[Field] = &[
    ("devices.requests[].deviceClassName", Form::Name, DEVICES, "DeviceClass"),
    ("devices.requests[].exactly.deviceClassName", Form::Name, DEVICES, "DeviceClass"),
    ("devices.requests[].firstAvailable[].deviceClassName", Form::Name, DEVICES, "DeviceClass"),
];
const TEMPLATE_REQUESTS: &[Field] = &[
    ("spec.devices.requests[].deviceClassName", Form::Name, DEVICES, "DeviceClass"),
    ("spec.devices.requests[].exactly.deviceClassName", Form::Name, DEVICES, "DeviceClass"),
    (
        "spec.devices.requests[].firstAvailable[].deviceClassName",
        Form::Name,
        DEVICES,
        "DeviceClass",
    ),
];
const SCALER: &[Field] = &[
    ("scaleTargetRef", Form::Object, "apps", "Deployment"),
    ("triggers[].authenticationRef", Form::Object, "keda.sh", "TriggerAuthentication"),
];
const ISSUER: &[Field] = &[
    ("ca.secretName", Form::Name, "", "Secret"),
    ("acme.privateKeySecretRef", Form::Object, "", "Secret"),
];
const LISTENER_SET: &[Field] = &[
    ("parentRef", Form::Object, GATEWAY, "Gateway"),
    ("listeners[].tls.certificateRefs[]", Form::Object, "", "Secret"),
];
/// <https://istio.io/latest/docs/reference/config/networking/gateway/#ServerTLSSettings>.
const ISTIO_GATEWAY: &[Field] = &[
    ("servers[].tls.credentialName", Form::Credential, "", "Secret"),
    ("servers[].tls.credentialNames[]", Form::Credential, "", "Secret"),
    ("servers[].tls.caCertCredentialName", Form::Credential, "", "Secret"),
];
/// The most conditions of an object that are kept.
const TOLD: usize = 3;
const CLASS: &[Field] = &[];

/// The fields of a kind that name something, if there is a table of them.
fn fields(kind: &Kind) -> Option<&'static [Field]> {
    Some(match (&*kind.group, &*kind.kind) {
        ("storage.k8s.io", "StorageClass" | "VolumeAttributesClass")
        | ("snapshot.storage.k8s.io", "VolumeSnapshotClass") => CLASS,
        ("networking.k8s.io", "IngressClass") => &[("parameters", Form::Object, "", "")],
        (GATEWAY, "GatewayClass") => &[("parametersRef", Form::Object, "", "")],
        (GATEWAY, "Gateway") => &[
            ("gatewayClassName", Form::Name, GATEWAY, "GatewayClass"),
            ("infrastructure.parametersRef", Form::Object, "", ""),
            ("listeners[].tls.certificateRefs[]", Form::Object, "", "Secret"),
            ("tls.backend.clientCertificateRef", Form::Object, "", "Secret"),
            ("tls.frontend.default.validation.caCertificateRefs[]", Form::Object, "", "ConfigMap"),
            (
                "tls.frontend.perPort[].tls.validation.caCertificateRefs[]",
                Form::Object,
                "",
                "ConfigMap",
            ),
        ],
        (GATEWAY, "ListenerSet") | ("gateway.networking.x-k8s.io", "XListenerSet") => LISTENER_SET,
        (GATEWAY, "BackendTLSPolicy") => &[
            ("targetRefs[]", Form::Object, "", "Service"),
            ("validation.caCertificateRefs[]", Form::Object, "", "ConfigMap"),
        ],
        (GATEWAY, "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute") => ROUTE,
        (ADMISSION, "ValidatingAdmissionPolicyBinding") => &[
            ("policyName", Form::Name, ADMISSION, "ValidatingAdmissionPolicy"),
            ("paramRef", Form::Object, "", ""),
        ],
        (ADMISSION, "MutatingAdmissionPolicyBinding") => &[
            ("policyName", Form::Name, ADMISSION, "MutatingAdmissionPolicy"),
            ("paramRef", Form::Object, "", ""),
        ],
        (ADMISSION, "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            &[("paramKind", Form::Kind, "", "")]
        }
        (DEVICES, "ResourceClaim") => DEVICE_REQUESTS,
        (DEVICES, "ResourceClaimTemplate") => TEMPLATE_REQUESTS,
        (CERTIFICATES, "Certificate") => &[
            ("secretName", Form::Name, "", "Secret"),
            ("issuerRef", Form::Object, CERTIFICATES, "Issuer"),
        ],
        (CERTIFICATES, "CertificateRequest") | ("acme.cert-manager.io", "Order" | "Challenge") => {
            &[("issuerRef", Form::Object, CERTIFICATES, "Issuer")]
        }
        (CERTIFICATES, "Issuer") => ISSUER,
        (SECRETS, "ExternalSecret") => &[
            ("target.name", Form::Name, "", "Secret"),
            ("secretStoreRef", Form::Object, SECRETS, "SecretStore"),
        ],
        (SECRETS, "PushSecret") => &[
            ("secretStoreRefs[]", Form::Object, SECRETS, "SecretStore"),
            ("selector.secret", Form::Object, "", "Secret"),
        ],
        ("keda.sh", "ScaledObject" | "ScaledJob") => SCALER,
        ("autoscaling.k8s.io", "VerticalPodAutoscaler") => {
            &[("targetRef", Form::Object, "apps", "Deployment")]
        }
        (ISTIO, "VirtualService") => &[
            ("gateways[]", Form::Path, ISTIO, "Gateway"),
            ("http[].route[].destination.host", Form::Host, "", "Service"),
            ("http[].mirror.host", Form::Host, "", "Service"),
            ("tls[].route[].destination.host", Form::Host, "", "Service"),
            ("tcp[].route[].destination.host", Form::Host, "", "Service"),
        ],
        (ISTIO, "Gateway") => ISTIO_GATEWAY,
        (ISTIO, "DestinationRule") => &[("host", Form::Host, "", "Service")],
        ("projectcontour.io", "HTTPProxy") => &[
            ("includes[]", Form::Object, "projectcontour.io", "HTTPProxy"),
            ("routes[].services[]", Form::Object, "", "Service"),
            ("tcpproxy.services[]", Form::Object, "", "Service"),
            ("virtualhost.tls.secretName", Form::Path, "", "Secret"),
        ],
        ("route.openshift.io", "Route") => &[
            ("to", Form::Object, "", "Service"),
            ("alternateBackends[]", Form::Object, "", "Service"),
        ],
        _ => return None,
    })
}

/// Whether the names that an object of this kind refers to are read.
pub(super) fn is_read(kind: &Kind) -> bool {
    fields(kind).is_some() || kind.is_an_operators()
}

/// Reads an object of which only the references matter.
pub(super) fn read(kind: &Kind, json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Named { metadata, spec, provisioner, driver, driver_name, status } =
        serde_json::from_str(json)?;
    let spec = spec.map_or("null", RawValue::get);
    let (spec, names) = match fields(kind) {
        Some(fields) => {
            let spec = serde_json::from_str(spec)?;
            let names = listed(fields, &spec);
            (spec, names)
        }
        None => {
            let spec = serde_json::from_str(spec).unwrap_or_default();
            let names = custom::names(kind, &spec);
            (spec, names)
        }
    };
    let text = |name: &str| spec.get(name).and_then(Value::as_str).filter(|it| is_name(it));
    let controller = match (&*kind.group, &*kind.kind) {
        ("networking.k8s.io", "IngressClass") => text("controller"),
        (GATEWAY, "GatewayClass") => text("controllerName"),
        _ => None,
    };
    let driver = [provisioner, driver, driver_name]
        .into_iter()
        .flatten()
        .find_map(|it| serde_json::from_str::<Arc<str>>(it.get()).ok().filter(|it| is_name(it)));
    let told = status.filter(|_| metadata.deletion_timestamp.is_some()).map(told);
    let drivers = if kind.is(DEVICES, "ResourceClaim") {
        status.map(drivers_of_devices).unwrap_or_default()
    } else {
        driver.into_iter().collect()
    };
    let references = References {
        names: names.into_list(),
        controller: controller.map(Arc::from),
        drivers,
        proxies: proxies(kind, &spec).map(Box::new),
        data: data_policy::read(kind, &spec, &metadata.finalizers).map(Box::new),
        told: told.unwrap_or_default(),
    };
    let is_empty = references == References::default();
    let facts = if is_empty { Facts::None } else { Facts::References(Box::new(references)) };
    Ok((metadata, facts))
}

/// The conditions by which the operator of an object may say why it keeps it: those about the deletion first, then the latest. In
/// another form than that of conditions it says nothing.
fn told(status: &RawValue) -> Box<[Condition]> {
    let Conditions { conditions } = serde_json::from_str(status.get()).unwrap_or_default();
    let mut told: Vec<Condition> =
        conditions.iter().map(Condition::from).filter(Condition::tells_of_deletion).collect();
    told.sort_by_key(|it| (!it.blocks_deletion(), !it.is_of_deletion(), Reverse(it.since)));
    told.truncate(TOLD);
    told.into()
}

/// The Pods that an Istio Gateway configures, if it selects them.
fn proxies(kind: &Kind, spec: &Value) -> Option<Selector> {
    let labels = spec.get("selector").filter(|_| kind.is(ISTIO, "Gateway"))?.as_object()?;
    let text =
        |(key, value): (&String, &Value)| Some((key.as_str().into(), value.as_str()?.into()));
    let labels: Labels = labels.iter().filter_map(text).collect();
    (!labels.is_empty()).then(|| Selector::of_labels(labels))
}

/// The drivers of the devices that are allocated to a ResourceClaim, by its status
/// (`staging/src/k8s.io/api/resource/v1/types.go`, `DeviceRequestAllocationResult`).
fn drivers_of_devices(status: &RawValue) -> Box<[Arc<str>]> {
    let status: Value = serde_json::from_str(status.get()).unwrap_or_default();
    let results = status.pointer("/allocation/devices/results").and_then(Value::as_array);
    let drivers = results.into_iter().flatten().filter_map(|it| it.get("driver")?.as_str());
    let drivers: BTreeSet<&str> = drivers.filter(|it| is_name(it)).collect();
    drivers.into_iter().map(Arc::from).collect()
}

/// An object with its spec as it was sent, its status, and the fields outside of a spec by which classes name their driver.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named<'a> {
    metadata: Meta,
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    provisioner: Option<&'a RawValue>,
    #[serde(borrow, default)]
    driver: Option<&'a RawValue>,
    #[serde(borrow, default)]
    driver_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

/// The names in the fields of a table.
pub(super) fn listed(fields: &[Field], spec: &Value) -> Names {
    let mut names = Names::default();
    for (path, form, group, target) in fields {
        let steps: Vec<&str> = path.split('.').collect();
        visit(spec, &steps, "spec", &mut |value, field| {
            add(&mut names, *form, (group, target), value, field);
        });
    }
    names
}

fn add(names: &mut Names, form: Form, (group, kind): (&str, &str), value: &Value, field: &str) {
    let text = || value.as_str();
    let part = |name: &str| value.get(name).and_then(Value::as_str);
    let (namespace, name) = match form {
        Form::Name => (None, text()),
        Form::Path => path(text()),
        Form::Host => host(text().unwrap_or_default()),
        Form::Object => (part("namespace").filter(|it| !it.is_empty()), part("name")),
        Form::Kind => (None, Some("")),
        Form::Credential => return add_credential(names, text().unwrap_or_default(), field),
    };
    let (group, kind) = match form {
        Form::Object | Form::Kind => {
            (group_of(value).unwrap_or(group), part("kind").unwrap_or(kind))
        }
        Form::Name | Form::Path | Form::Host | Form::Credential => (group, kind),
    };
    let is_whole = |text: &str| is_name(text) || matches!(form, Form::Kind) && text.is_empty();
    if let Some(name) = name.filter(|it| is_whole(it)) {
        names.push(Reference {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.map(Arc::from),
            name: name.into(),
            field: field.into(),
        });
    }
}

/// The namespace and the name in a text: `NAME` or `NAMESPACE/NAME`.
fn path(text: Option<&str>) -> (Option<&str>, Option<&str>) {
    match text.and_then(|text| text.split_once('/')) {
        Some((namespace, name)) => (Some(namespace), Some(name)),
        None => (None, text),
    }
}

/// Adds the object with a certificate of Istio, and the Secret with the certificates of its authorities, which may be another one. Other
/// schemes name no object of the cluster (`pilot/pkg/model/credentials/resource.go` and
/// <https://istio.io/latest/docs/tasks/traffic-management/ingress/secure-ingress/#key-formats>).
fn add_credential(names: &mut Names, text: &str, field: &str) {
    let (scheme, rest) = text.split_once("://").unwrap_or(("kubernetes", text));
    let (kind, endings) = match scheme {
        "kubernetes" | "kubernetes-gateway" => ("Secret", &["", "-cacert"][..]),
        "configmap" => ("ConfigMap", &[""][..]),
        _ => return,
    };
    let (namespace, name) = path(Some(rest));
    let Some(name) = name.filter(|it| is_name(it)) else { return };
    for name in endings.iter().map(|ending| format!("{name}{ending}")).filter(|it| is_name(it)) {
        names.push(Reference {
            group: Arc::default(),
            kind: kind.into(),
            namespace: namespace.map(Arc::from),
            name: name.into(),
            field: field.into(),
        });
    }
}

/// The namespace and the name of the Service that a host stands for
/// (<https://istio.io/latest/docs/reference/config/networking/virtual-service/#Destination>).
fn host(text: &str) -> (Option<&str>, Option<&str>) {
    let mut labels = text.split('.');
    match (labels.next(), labels.next(), labels.next()) {
        (Some(name), None, _) => (None, Some(name)),
        (Some(name), Some(namespace), Some("svc")) => (Some(namespace), Some(name)),
        _ => (None, None),
    }
}
