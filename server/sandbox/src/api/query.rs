//! The parameters of a request.

use crate::status::Status;

/// A query string, read as leniently as kube-apiserver reads it: unknown parameters are ignored.
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

    /// The same query, for exactly this resource version.
    #[must_use]
    pub(super) fn at(&self, revision: u64) -> Self {
        let of_version = |name: &str| name == "resourceVersion" || name == "resourceVersionMatch";
        let mut pairs: Vec<_> =
            self.pairs.iter().filter(|(name, _)| !of_version(name)).cloned().collect();
        pairs.push(("resourceVersion".into(), revision.to_string()));
        pairs.push(("resourceVersionMatch".into(), "Exact".into()));
        Self { pairs }
    }

    /// Whether a boolean parameter is true: it is present, with any value but `0` and `false`
    /// (`Convert_Slice_string_To_bool`).
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let said = self.all(name).next();
        said.is_some_and(|said| said != "0" && !said.eq_ignore_ascii_case("false"))
    }

    /// The number in a parameter, if it is present.
    ///
    /// # Errors
    ///
    /// 400 if it is not a number.
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
    /// 500 if it is malformed; see [`Self::version_of_list`].
    pub(crate) fn version(&self, name: &str) -> Result<Option<u64>, Status> {
        match self.get(name) {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| Status::plain(500, &unparsable(text))),
        }
    }

    /// The resource version of a list, where a malformed one is a bad request.
    ///
    /// # Errors
    ///
    /// 400 if it is malformed.
    pub(crate) fn version_of_list(&self, name: &str) -> Result<Option<u64>, Status> {
        let unread = |_| {
            let why = unparsable(self.get(name));
            Status::bad_request(format!("invalid resource version: {why}"))
        };
        self.version(name).map_err(unread)
    }
}

fn unparsable(version: &str) -> String {
    format!(
        "resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax"
    )
}
