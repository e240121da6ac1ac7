//! Whether a cluster is one for production, which nothing but its name says.

/// Words that say so, alone or with a number behind them.
const WORDS: [&str; 3] = ["prod", "production", "prd"];
/// Words that take it back where they stand in front.
const NOT: [&str; 3] = ["non", "pre", "not"];

/// Whether a word of the name says that the cluster is for production.
pub fn is_production(cluster: &str) -> bool {
    let mut before = "";
    for word in cluster.split(|c: char| !c.is_ascii_alphanumeric()) {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_one_of =
            |words: [&str; 3], word: &str| words.iter().any(|it| it.eq_ignore_ascii_case(word));
        if is_one_of(WORDS, stem) && !is_one_of(NOT, before) {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_is_a_whole_word_of_the_name() {
        for name in
            ["prod", "PROD-eu-1", "gke_acme-production_europe-west1_main", "eu1.prod2", "admin@prd"]
        {
            assert!(is_production(name), "{name}");
        }
        for name in [
            "",
            "staging-eu-1",
            "product-catalogue",
            "reproduction",
            "non-prod",
            "pre-production",
            "nonprod",
        ] {
            assert!(!is_production(name), "{name}");
        }
    }
}
