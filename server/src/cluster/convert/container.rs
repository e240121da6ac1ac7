//! Containers of Pods and Pod templates: the names that they refer to, and the provisioner that one is told to be.
//!
//! # Decisions
//! - The arguments and the literal values of the variables of a container may be passwords. They are skipped while the JSON is read,
//!   except the name of a provisioner: the value of `PROVISIONER_NAME`, which `nfs-subdir-external-provisioner`,
//!   `local-path-provisioner` and the provisioners of `kubernetes-incubator/external-storage` read, and of the flags `provisioner`
//!   (`nfs-ganesha-server-and-external-provisioner`) and `provisioner-name` (`local-path-provisioner`).
//! - A name that the container takes from a ConfigMap is not known, because the data of ConfigMaps is never read.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use teardown::object::PodReferenceKind;

use super::{Named, Unread, names::is_name, or_default, uses::Uses};

/// The variable and the flags that tell a container which provisioner it is.
const VARIABLE: &str = "PROVISIONER_NAME";
const FLAGS: [&str; 2] = ["provisioner", "provisioner-name"];

/// A container, init container or ephemeral container.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: Box<str>,
    #[serde(deserialize_with = "or_default")]
    image: Box<str>,
    #[serde(deserialize_with = "or_default")]
    command: Arguments,
    #[serde(deserialize_with = "or_default")]
    args: Arguments,
    #[serde(deserialize_with = "or_default")]
    env: Vec<Variable>,
    #[serde(deserialize_with = "or_default")]
    env_from: Vec<VariableSource>,
    #[serde(deserialize_with = "or_default")]
    volume_mounts: Vec<Mount>,
    lifecycle: Option<Lifecycle>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Mount {
    #[serde(deserialize_with = "or_default")]
    sub_path: Box<str>,
    #[serde(deserialize_with = "or_default")]
    sub_path_expr: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Lifecycle {
    pre_stop: Option<Unread>,
}

/// The arguments of a container, of which only the names of provisioners are kept.
#[derive(Debug, Default)]
struct Arguments(Vec<Arc<str>>);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of arguments")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Arguments, A::Error> {
        let mut names = Vec::new();
        let mut follows_flag = false;
        while let Some(argument) = list.next_element::<Cow<'de, str>>()? {
            let is_value = std::mem::take(&mut follows_flag) && !argument.starts_with('-');
            let flag = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
            match flag.map(|flag| flag.split_once('=').ok_or(flag)) {
                _ if is_value => names.push((*argument).into()),
                Some(Ok((flag, name))) if FLAGS.contains(&flag) => names.push(name.into()),
                Some(Err(flag)) => follows_flag = FLAGS.contains(&flag),
                Some(Ok(_)) | None => {}
            }
        }
        Ok(Arguments(names))
    }
}

/// An environment variable.
#[derive(Debug)]
struct Variable {
    value_from: Option<ValueSource>,
    /// Its value, if that is the name of a provisioner.
    provisioner: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(VariableVisitor)
    }
}

struct VariableVisitor;

impl<'de> Visitor<'de> for VariableVisitor {
    type Value = Variable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an environment variable")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Variable, A::Error> {
        let mut variable = Variable { value_from: None, provisioner: None };
        let mut names_provisioner = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "valueFrom" => variable.value_from = map.next_value()?,
                "name" => {
                    let name: Option<Cow<'de, str>> = map.next_value()?;
                    names_provisioner = name.as_deref() == Some(VARIABLE);
                }
                // The API server writes the name first.
                "value" if names_provisioner => variable.provisioner = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(variable)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ValueSource {
    config_map_key_ref: Option<Named>,
    secret_key_ref: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VariableSource {
    config_map_ref: Option<Named>,
    secret_ref: Option<Named>,
}

impl Container {
    /// The name of its image, without registry and folders.
    pub(super) fn image_name(&self) -> &str {
        self.image.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn mounts_sub_path(&self) -> bool {
        let is_part = |mount: &Mount| !mount.sub_path.is_empty() || !mount.sub_path_expr.is_empty();
        self.volume_mounts.iter().any(is_part)
    }

    pub(super) fn has_pre_stop_hook(&self) -> bool {
        self.lifecycle.as_ref().is_some_and(|hooks| hooks.pre_stop.is_some())
    }

    /// The names of the provisioners that it is told to be. An argument with a reference to a variable is none: the value of
    /// `PROVISIONER_NAME` is found at the variable.
    pub(super) fn provisioners(&self) -> impl Iterator<Item = Arc<str>> {
        let told = self.command.0.iter().chain(&self.args.0);
        let of_variables = self.env.iter().filter_map(|variable| variable.provisioner.as_ref());
        told.chain(of_variables).filter(|name| is_name(name) && !name.contains("$(")).cloned()
    }

    pub(super) fn uses(&self, uses: &mut Uses<'_>, list: &str, i: usize) {
        for (j, source) in self.env_from.iter().enumerate() {
            let config_map = source.config_map_ref.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::ConfigMap, config_map, || {
                format!("{list}[{i}].envFrom[{j}].configMapRef.name")
            });
            let secret = source.secret_ref.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::Secret, secret, || {
                format!("{list}[{i}].envFrom[{j}].secretRef.name")
            });
        }
        for (j, variable) in self.env.iter().enumerate() {
            let Some(source) = &variable.value_from else { continue };
            let config_map = source.config_map_key_ref.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::ConfigMap, config_map, || {
                format!("{list}[{i}].env[{j}].valueFrom.configMapKeyRef.name")
            });
            let secret = source.secret_key_ref.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::Secret, secret, || {
                format!("{list}[{i}].env[{j}].valueFrom.secretKeyRef.name")
            });
        }
    }
}
