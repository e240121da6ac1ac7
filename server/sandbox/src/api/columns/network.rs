//! The columns of network kinds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AGE, Column, NAME, int, labels, length, list, name_of_class, text, text_or, wide};
use crate::{kind::Kind, object};

/// The columns of a kind in this module; `None` for any other kind.
pub(super) fn of(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") => vec![
            NAME,
            text("Type", |one, _| json!(object::text(one, &["spec", "type"]))),
            text("Cluster-IP", |one, _| {
                let (spec, all) = (&one["spec"], &one["spec"]["clusterIPs"]);
                text_or(if all.is_null() { &spec["clusterIP"] } else { &all[0] }, "<none>")
            }),
            text("External-IP", |one, _| json!(external(one))),
            text("Port(s)", |one, _| json!(ports(&one["spec"]["ports"]))),
            AGE,
            wide("Selector", |one, _| json!(labels::pairs(&one["spec"]["selector"]))),
        ],
        ("", "endpoints") => {
            vec![NAME, text("Endpoints", |one, _| json!(endpoints(&one["subsets"]))), AGE]
        }
        ("discovery.k8s.io", "endpointslices") => vec![
            NAME,
            text("AddressType", |one, _| json!(object::text(one, &["addressType"]))),
            text("Ports", |one, _| {
                let ports = list(&one["ports"]).iter();
                let shown = ports.map(|port| match (&port["port"], &port["name"]) {
                    (Value::Null, Value::Null) => "*".into(),
                    (Value::Null, name) => name.as_str().unwrap_or_default().into(),
                    (port, _) => port.to_string(),
                });
                let shown: Vec<String> = shown.collect();
                text_or(&json!(at_most_three(&shown)), "<unset>")
            }),
            text("Endpoints", |one, _| {
                let endpoints = list(&one["endpoints"]).iter();
                let all = endpoints.flat_map(|one| object::texts(one, &["addresses"]));
                let all: Vec<_> = all.map(String::from).collect();
                text_or(&json!(at_most_three(&all)), "<unset>")
            }),
            AGE,
        ],
        ("networking.k8s.io", "ingressclasses") => vec![
            Column::naming("Name", 0, |one, _| {
                name_of_class(one, &["ingressclass.kubernetes.io/is-default-class"])
            }),
            text("Controller", |one, _| json!(object::text(one, &["spec", "controller"]))),
            text("Parameters", |one, _| json!(parameters(&one["spec"]["parameters"]))),
            AGE,
        ],
        ("networking.k8s.io", "ingresses") => vec![
            NAME,
            text("Class", |one, _| text_or(&one["spec"]["ingressClassName"], "<none>")),
            text("Hosts", |one, _| json!(hosts(&one["spec"]["rules"]))),
            text("Address", |one, _| {
                let places = places(one).into_iter();
                json!(places.collect::<Vec<_>>().join(","))
            }),
            text("Ports", |one, _| {
                json!(if length(&one["spec"]["tls"]) > 0 { "80, 443" } else { "80" })
            }),
            AGE,
        ],
        ("networking.k8s.io", "networkpolicies") => vec![
            NAME,
            text("Pod-Selector", |one, _| json!(labels::selected(&one["spec"]["podSelector"]))),
            AGE,
        ],
        ("networking.k8s.io", "servicecidrs") => vec![
            NAME,
            text("CIDRs", |one, _| {
                let ranges = object::texts(one, &["spec", "cidrs"]);
                json!(ranges.collect::<Vec<_>>().join(","))
            }),
            AGE,
        ],
        // kube-apiserver also sends an age, but declares no column for it, so nobody sees it.
        ("networking.k8s.io", "ipaddresses") => {
            vec![NAME, text("ParentRef", |one, _| json!(parent(&one["spec"]["parentRef"])))]
        }
        _ => return None,
    })
}

/// The addresses at which a Service is reached from outside.
fn external(service: &Value) -> String {
    let own = object::texts(service, &["spec", "externalIPs"]);
    let (all, none): (Vec<&str>, &str) = match object::text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => (own.collect(), "<none>"),
        "LoadBalancer" => (places(service).into_iter().chain(own).collect(), "<pending>"),
        "ExternalName" => return object::text(service, &["spec", "externalName"]).to_owned(),
        _ => return "<unknown>".into(),
    };
    if all.is_empty() { none.into() } else { all.join(",") }
}

/// The load balancer addresses of a Service or an Ingress. They are never shortened, because the server renders every
/// table for a wide screen.
fn places(one: &Value) -> BTreeSet<&str> {
    let ingress = list(&one["status"]["loadBalancer"]["ingress"]).iter();
    let places = ingress.map(|one| match object::text(one, &["ip"]) {
        "" => object::text(one, &["hostname"]),
        address => address,
    });
    places.filter(|place| !place.is_empty()).collect()
}

fn ports(ports: &Value) -> String {
    let shown = list(ports).iter().map(|port| {
        let protocol = object::text(port, &["protocol"]);
        match (int(&port["port"]), int(&port["nodePort"])) {
            (port, of_node @ 1..) => format!("{port}:{of_node}/{protocol}"),
            (port, _) => format!("{port}/{protocol}"),
        }
    });
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() { "<none>".into() } else { shown.join(",") }
}

/// Every address with every port, three at most (`formatEndpoints`).
fn endpoints(subsets: &Value) -> String {
    let mut all = vec![];
    for subset in list(subsets) {
        let addresses = list(&subset["addresses"]).iter();
        let addresses: Vec<&str> = addresses.map(|one| object::text(one, &["ip"])).collect();
        let ports = list(&subset["ports"]);
        if ports.is_empty() {
            all.extend(addresses.iter().map(|&address| address.to_owned()));
        }
        for port in ports {
            let port = int(&port["port"]);
            all.extend(addresses.iter().map(|address| {
                if address.contains(':') {
                    format!("[{address}]:{port}")
                } else {
                    format!("{address}:{port}")
                }
            }));
        }
    }
    if list(subsets).is_empty() { "<none>".into() } else { at_most_three(&all) }
}

fn at_most_three(all: &[String]) -> String {
    match all {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a},{b},{c} + {} more...", rest.len()),
        few => few.join(","),
    }
}

fn parameters(parameters: &Value) -> String {
    let part = |field| object::text(parameters, &[field]);
    match (part("kind"), part("apiGroup"), part("name")) {
        ("", _, _) => "<none>".into(),
        (kind, "", name) => format!("{kind}/{name}"),
        (kind, group, name) => format!("{kind}.{group}/{name}"),
    }
}

/// The hosts of an Ingress, three at most. The number of the others is counted in rules (`formatHosts`).
fn hosts(rules: &Value) -> String {
    let rules = list(rules);
    let mut all = rules.iter().map(|rule| object::text(rule, &["host"]));
    let shown: Vec<_> = all.by_ref().filter(|host| !host.is_empty()).take(3).collect();
    match all.next() {
        Some(_) => format!("{} + {} more...", shown.join(","), rules.len() - 3),
        None if shown.is_empty() => "*".into(),
        None => shown.join(","),
    }
}

/// The object that an IPAddress is allocated to.
fn parent(parent: &Value) -> String {
    let part = |field| object::text(parent, &[field]);
    let dot = if part("group").is_empty() { "" } else { "." };
    let resource = format!("{}{dot}{}", part("resource"), part("group")).to_lowercase();
    match (parent, part("namespace"), part("name")) {
        (Value::Null, _, _) => "<none>".into(),
        (_, "", name) => format!("{resource}/{name}"),
        (_, namespace, name) => format!("{resource}/{namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::check;

    #[test]
    fn service_shows_its_addresses() {
        let columns = ["Type", "Cluster-IP", "External-IP", "Port(s)", "Selector"];
        let none = "<none>";
        let ingress = json!({"loadBalancer": {"ingress": [
            {"hostname": "b.example.com"}, {"ip": "192.0.2.1", "hostname": "c"}, {"hostname": "b.example.com"}, {},
        ]}});
        for (spec, status, expected) in [
            (
                json!({"type": "ClusterIP", "clusterIPs": ["10.0.0.1", "2001:db8::1"], "selector": {"app": "web"}}),
                json!({}),
                json!(["ClusterIP", "10.0.0.1", none, none, "app=web"]),
            ),
            (
                json!({"type": "NodePort", "clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.8", "192.0.2.9"], "ports": [
                    {"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"},
                ]}),
                json!({}),
                json!(["NodePort", "10.0.0.1", "192.0.2.8,192.0.2.9", "80:30080/TCP,53/UDP", none]),
            ),
            (
                json!({"type": "LoadBalancer"}),
                json!({}),
                json!(["LoadBalancer", none, "<pending>", none, none]),
            ),
            (
                json!({"type": "LoadBalancer", "externalIPs": ["192.0.2.9"]}),
                ingress.clone(),
                json!(["LoadBalancer", none, "192.0.2.1,b.example.com,192.0.2.9", none, none]),
            ),
            (
                json!({"type": "ExternalName", "externalName": "example.com"}),
                json!({}),
                json!(["ExternalName", none, "example.com", none, none]),
            ),
            (json!({}), json!({}), json!(["", none, "<unknown>", none, none])),
        ] {
            let service = json!({"spec": spec, "status": status});
            check("", "services", &columns, &service, &expected);
        }
        let address = json!(["192.0.2.1,b.example.com"]);
        check(
            "networking.k8s.io",
            "ingresses",
            &["Address"],
            &json!({"status": ingress}),
            &address,
        );
    }

    #[test]
    fn long_lists_of_places_are_cut_short() {
        let address = |text: &str| json!({"ip": text});
        let port = |number: i64| json!({"port": number});
        let three = [address("192.0.2.1"), address("192.0.2.2"), address("2001:db8::1")];
        for (subsets, expected) in [
            (json!([]), "<none>"),
            (json!([{"notReadyAddresses": three}]), ""),
            (json!([{"addresses": three}]), "192.0.2.1,192.0.2.2,2001:db8::1"),
            (
                json!([{"addresses": three[1..], "ports": [port(80)]}]),
                "192.0.2.2:80,[2001:db8::1]:80",
            ),
            (
                json!([{"addresses": three[..2], "ports": [port(80), port(81)]}, {"addresses": three}]),
                "192.0.2.1:80,192.0.2.2:80,192.0.2.1:81 + 4 more...",
            ),
        ] {
            let one = json!({"subsets": subsets});
            check("", "endpoints", &["Endpoints"], &one, &json!([expected]));
        }
        for (slice, expected) in [
            (json!({}), json!(["<unset>", "<unset>"])),
            (
                json!({
                    "ports": [{"port": 80}, {"name": "web"}, {}, {"port": 81}, {"port": 82}],
                    "endpoints": [{"addresses": ["192.0.2.1"]}, {"addresses": ["192.0.2.2"]}],
                }),
                json!(["80,web,* + 2 more...", "192.0.2.1,192.0.2.2"]),
            ),
            (json!({"ports": [{"name": ""}]}), json!(["<unset>", "<unset>"])),
        ] {
            check("discovery.k8s.io", "endpointslices", &["Ports", "Endpoints"], &slice, &expected);
        }
        for (hosts, expected) in [
            (vec![], "*"),
            (vec![""], "*"),
            (vec!["a", "", "b", "c"], "a,b,c"),
            (vec!["a", "b", "c", ""], "a,b,c + 1 more..."),
        ] {
            let rules: Vec<_> = hosts.into_iter().map(|host| json!({"host": host})).collect();
            let one = json!({"spec": {"rules": rules}});
            check("networking.k8s.io", "ingresses", &["Hosts"], &one, &json!([expected]));
        }
        for (parent, expected) in [
            (json!(null), "<none>"),
            (
                json!({"resource": "services", "namespace": "shop", "name": "web"}),
                "services/shop/web",
            ),
            (
                json!({"group": "Example.com", "resource": "gates", "name": "a"}),
                "gates.example.com/a",
            ),
        ] {
            let one = json!({"spec": {"parentRef": parent}});
            check("networking.k8s.io", "ipaddresses", &["ParentRef"], &one, &json!([expected]));
        }
        let one = json!({"spec": {"cidrs": ["10.0.0.0/16", "2001:db8::/112"]}});
        let expected = json!(["10.0.0.0/16,2001:db8::/112"]);
        check("networking.k8s.io", "servicecidrs", &["CIDRs"], &one, &expected);
    }
}
