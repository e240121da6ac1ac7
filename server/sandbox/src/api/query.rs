//! The parameters of a request.

use crate::status::Status;

/// A query string, read leniently as the real one does: a parameter that is not known is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes());
        Self { pairs: pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect() }
    }

    /// The first value of a parameter; empty if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The same, asking for exactly this version.
    #[must_use]
    pub(super) fn at(&self, revision: u64) -> Self {
        let of_version = |name: &str| name == "resourceVersion" || name == "resourceVersionMatch";
        let mut pairs: Vec<_> =
            self.pairs.iter().filter(|(name, _)| !of_version(name)).cloned().collect();
        pairs.push(("resourceVersion".into(), revision.to_string()));
        pairs.push(("resourceVersionMatch".into(), "Exact".into()));
        Self { pairs }
    }

    /// Whether a switch is on: `1`, `t`, `true` in the ways Go reads them.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        ["1", "t", "T", "true", "TRUE", "True"].contains(&self.get(name))
    }

    /// A number, if there is one.
    ///
    /// # Errors
    ///
    /// 400 for what is none.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            }),
        }
    }

    /// A resource version, if one other than "any" is given.
    ///
    /// # Errors
    ///
    /// 400 for what is none.
    pub(crate) fn version(&self, name: &str) -> Result<Option<u64>, Status> {
        match self.get(name) {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Status::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing \
                     {text:?}: invalid syntax"
                ))
            }),
        }
    }
}
