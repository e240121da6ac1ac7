//! ServiceCIDRs: `ValidateServiceCIDR`, `ValidateServiceCIDRUpdate`.

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::status::Cause;

const FIELD: &str = "spec.cidrs";

pub(super) fn spec(spec: &Value, causes: &mut Vec<Cause>) {
    let ranges = spec["cidrs"].as_array().map(Vec::as_slice).unwrap_or_default();
    if ranges.is_empty() {
        causes.push(Cause::required(FIELD, "at least one CIDR required"));
    }
    if ranges.len() > 2 {
        // Go encodes a struct without JSON tags by its field names.
        let is = json!({"CIDRs": ranges});
        causes.push(Cause::invalid(FIELD, &is, "may only hold up to 2 values"));
        return;
    }
    for (index, range) in ranges.iter().enumerate() {
        let mut wrong = |why| causes.push(Cause::invalid(&format!("{FIELD}[{index}]"), range, why));
        match range.as_str().and_then(|range| range.parse::<IpNet>().ok()) {
            None => wrong("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
            Some(range) if range.trunc() != range => {
                wrong("must not have bits set beyond the prefix length");
            }
            Some(_) => {}
        }
    }
}

/// Existing ranges stay; a range of the other IP family may be added.
pub(super) fn change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    for (index, was) in old["cidrs"].as_array().into_iter().flatten().enumerate() {
        let is = &new["cidrs"][index];
        if was != is {
            causes.push(Cause::invalid(&format!("{FIELD}[{index}]"), is, "field is immutable"));
        }
    }
}
