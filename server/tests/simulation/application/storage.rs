//! Claims and volumes: provisioned on demand and deleted with their claim, or provisioned by hand and retained.

use serde_json::{Value, json};

use super::{BYSTANDER, Generator, NFS, UNIT, object};

/// The class of the volumes that are provisioned on demand.
pub(crate) const CLASS: &str = "fast";

impl Generator<'_> {
    /// Adds the StorageClass of the volumes that are provisioned on demand, once.
    pub(super) fn class(&mut self) {
        if self.application.objects.iter().any(|it| it["kind"] == "StorageClass") {
            return;
        }
        let mut class = object("storage.k8s.io/v1", "StorageClass", "", CLASS);
        class["provisioner"] = json!("csi.example.com");
        class["reclaimPolicy"] = json!("Delete");
        self.application.objects.push(class);
    }

    /// Adds a claim for a workload to mount.
    pub(super) fn claim(&mut self, namespace: &str) -> String {
        let name = self.name("data");
        let claim = if self.chance(50) {
            self.class();
            claim(namespace, &name, CLASS, "")
        } else {
            let volume = self.volume(&name, namespace);
            claim(namespace, &name, "", &volume)
        };
        self.add_for(UNIT, claim);
        self.application.claims.push((namespace.to_owned(), name.clone()));
        name
    }

    pub(super) fn claim_alone(&mut self, namespace: &str) {
        self.claim(namespace);
    }

    /// Adds a volume that is provisioned by hand for the claim of this name.
    fn volume(&mut self, name: &str, namespace: &str) -> String {
        let volume_name = format!("volume-{name}");
        let mut volume = object("v1", "PersistentVolume", "", &volume_name);
        volume["spec"] = json!({
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": namespace, "name": name},
            "nfs": {"server": NFS, "path": format!("/export/{name}")},
        });
        self.application.volumes.push(volume_name.clone());
        // Most volumes belong to the unit only through their claim, and are retained.
        if self.chance(30) {
            self.add_for(UNIT, volume);
        } else {
            self.application.objects.push(volume);
        }
        volume_name
    }

    /// A claim and a volume of the bystander that look like those of the unit.
    pub(super) fn shared_volume(&mut self) {
        if !self.chance(30) {
            return;
        }
        let mut volume = object("v1", "PersistentVolume", "", "volume-other");
        volume["spec"] = json!({
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": BYSTANDER, "name": "data"},
            "nfs": {"server": NFS, "path": "/export/other"},
        });
        self.add_for(BYSTANDER, volume);
        let claim = claim(BYSTANDER, "data", "", "volume-other");
        self.add_for(BYSTANDER, claim);
    }
}

fn claim(namespace: &str, name: &str, class: &str, volume: &str) -> Value {
    let mut claim = object("v1", "PersistentVolumeClaim", namespace, name);
    claim["spec"] = json!({
        "accessModes": ["ReadWriteMany"],
        "storageClassName": class,
        "resources": {"requests": {"storage": "1Gi"}},
    });
    if !volume.is_empty() {
        claim["spec"]["volumeName"] = json!(volume);
    }
    claim
}
