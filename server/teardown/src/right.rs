//! The rights of a person who is signed in. The server checks them for each request, and the page explains them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A right of a session. A greater right includes the smaller ones.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// See everything and change nothing.
    #[default]
    Look,
    /// Make plans, and start, pause, resume and stop runs, and skip their steps.
    Act,
    /// Have Unwind do a remedy: remove a finalizer, force a Pod, switch something off.
    Force,
}

impl Right {
    /// All rights, the smallest first.
    pub const ALL: [Self; 3] = [Self::Look, Self::Act, Self::Force];
}

/// Writes the right as the API names it.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Look => "look",
            Self::Act => "act",
            Self::Force => "force",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_includes_the_smaller_ones_and_is_written_as_the_api_names_it() {
        assert!(Right::Look < Right::Act && Right::Act < Right::Force);
        for right in Right::ALL {
            assert_eq!(serde_json::to_string(&right).unwrap(), format!("\"{right}\""));
        }
    }
}
