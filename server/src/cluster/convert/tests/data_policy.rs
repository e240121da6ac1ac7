//! The fields by which operators say what becomes of data.

use teardown::object::DataEffect;

use super::*;

/// The policy of an object of a kind, with the field.
fn said(of: &str, rest: &str) -> Option<String> {
    let Facts::References(references) = read(of, rest).facts else { return None };
    let policy = references.data?;
    let effect = match &policy.effect {
        DataEffect::DeletesClaims { label } => format!("deletes claims with {label}"),
        DataEffect::DestroysData => "destroys".to_owned(),
        DataEffect::LeavesData => "leaves".to_owned(),
    };
    Some(format!("{effect} by {}", policy.field))
}

#[test]
fn documented_fields_and_no_others_say_what_becomes_of_data() {
    let strimzi = "kafka.strimzi.io/v1beta2 Kafka";
    let of = |kind: &str, spec: &str| said(kind, &format!(r#""spec": {spec}"#)).unwrap_or_default();
    assert_eq!(
        of(strimzi, r#"{"kafka": {"storage": {"type": "persistent-claim", "deleteClaim": true}}}"#),
        "deletes claims with strimzi.io/cluster by spec.kafka.storage.deleteClaim: true"
    );
    assert_eq!(
        of(
            strimzi,
            r#"{"kafka": {"storage": {"type": "jbod", "volumes": [{"deleteClaim": false}, {"deleteClaim": true}]}}}"#
        ),
        "deletes claims with strimzi.io/cluster by spec.kafka.storage.volumes[1].deleteClaim: true"
    );
    assert_eq!(of(strimzi, r#"{"kafka": {"storage": {"deleteClaim": "true"}}}"#), "");
    assert_eq!(of("example.com/v1 Kafka", r#"{"kafka": {"storage": {"deleteClaim": true}}}"#), "");
    assert_eq!(
        of("kafka.strimzi.io/v1beta2 KafkaNodePool", r#"{"storage": {"deleteClaim": true}}"#),
        "deletes claims with strimzi.io/pool-name by spec.storage.deleteClaim: true"
    );
    let search = "elasticsearch.k8s.elastic.co/v1 Elasticsearch";
    assert_eq!(of(search, r#"{"volumeClaimDeletePolicy": "DeleteOnScaledownOnly"}"#), "");
    assert_eq!(
        of(search, "{}"),
        "deletes claims with elasticsearch.k8s.elastic.co/cluster-name by \
         spec.volumeClaimDeletePolicy: DeleteOnScaledownAndClusterDeletion by default"
    );
    assert_eq!(
        of("postgresql.cnpg.io/v1 Database", r#"{"databaseReclaimPolicy": "delete"}"#),
        "destroys by spec.databaseReclaimPolicy: delete"
    );
    assert_eq!(
        of("ceph.rook.io/v1 CephFilesystem", r#"{"preserveFilesystemOnDelete": true}"#),
        "leaves by spec.preserveFilesystemOnDelete: true"
    );
}
