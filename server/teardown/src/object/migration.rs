//! The CSI drivers to which Kubernetes' own volume plugins were migrated: a class or volume that names the plugin is served by the
//! driver (`staging/src/k8s.io/csi-translation-lib/plugins`). The migration cannot be switched off any more, and the plugins that were
//! not migrated, such as that of Ceph's block devices, are no longer there.

/// A plugin, the field of a volume that it reads, and the driver.
struct Migration {
    /// The name by which classes and the annotation `pv.kubernetes.io/provisioned-by` name it.
    plugin: &'static str,
    /// The path of its field in a PersistentVolume.
    field: &'static str,
    driver: &'static str,
}

const MIGRATIONS: [Migration; 7] = [
    of("kubernetes.io/aws-ebs", "spec.awsElasticBlockStore", "ebs.csi.aws.com"),
    of("kubernetes.io/azure-disk", "spec.azureDisk", "disk.csi.azure.com"),
    of("kubernetes.io/azure-file", "spec.azureFile", "file.csi.azure.com"),
    of("kubernetes.io/cinder", "spec.cinder", "cinder.csi.openstack.org"),
    of("kubernetes.io/gce-pd", "spec.gcePersistentDisk", "pd.csi.storage.gke.io"),
    of("kubernetes.io/portworx-volume", "spec.portworxVolume", "pxd.portworx.com"),
    of("kubernetes.io/vsphere-volume", "spec.vsphereVolume", "csi.vsphere.vmware.com"),
];

const fn of(plugin: &'static str, field: &'static str, driver: &'static str) -> Migration {
    Migration { plugin, field, driver }
}

/// The driver that makes and deletes the volumes of a provisioner: itself, unless it is a plugin of Kubernetes. None for a plugin
/// without a driver, and for the name by which a class says that its volumes are made by hand
/// (<https://kubernetes.io/docs/concepts/storage/storage-classes/#provisioner>).
pub(crate) fn driver_of_provisioner(name: &str) -> Option<&str> {
    if !name.starts_with("kubernetes.io/") {
        return Some(name);
    }
    MIGRATIONS.iter().find(|it| it.plugin == name).map(|it| it.driver)
}

/// The driver that attaches and mounts a volume with this source, such as `awsElasticBlockStore`.
pub fn driver_of_source(source: &str) -> Option<&'static str> {
    of_source(source).map(|it| it.driver)
}

/// The path of a field of a PersistentVolume, if a driver serves the volumes that have it.
pub(super) fn field_of_source(source: &str) -> Option<&'static str> {
    of_source(source).map(|it| it.field)
}

fn of_source(source: &str) -> Option<&'static Migration> {
    MIGRATIONS.iter().find(|it| it.field.strip_prefix("spec.") == Some(source))
}
