//! The rule set: what may be turned, and the hash that says which rules made an outcome.

use sha2::{Digest, Sha256};

use super::RuleSet;

/// The version of everything about matching that is not a parameter: passes and their order, normal forms, word lists,
/// limits. Raised with any change that can change an outcome.
pub(super) const ENGINE: u32 = 1;

/// How many edges one block of candidates may have. A larger block is AMBIGUOUS as a whole: it could only be resolved
/// where 65 or more lines are equal in every respect.
pub(super) const EDGES_PER_BLOCK: usize = 4_096;

/// Two lines that share nothing but an amount which no other open line has are called DATE_WINDOW up to this many
/// business days apart; beyond, the amount is a coincidence like any other.
pub(super) const AMOUNT_ALONE_DAYS: u32 = 30;

// === impl RuleSet ===

impl Default for RuleSet {
    fn default() -> Self {
        Self { book_precedes_bank: 5, book_follows_bank: 1, rare_token_limit: 50 }
    }
}

impl RuleSet {
    /// SHA-256, in hex, of the RFC 8785 JSON of `{"engine": version, "parameters": {…}}`.
    pub fn hash(&self) -> String {
        // Taken apart by name, so that a parameter that is added here is not forgotten; keys in order.
        let Self { book_precedes_bank, book_follows_bank, rare_token_limit } = self;
        let json = format!(
            r#"{{"engine":{ENGINE},"parameters":{{"book_follows_bank":{book_follows_bank},"book_precedes_bank":{book_precedes_bank},"rare_token_limit":{rare_token_limit}}}}}"#
        );
        Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_set_is_known_by_its_parameters_and_the_engines_rules() {
        let hash = RuleSet::default().hash();
        assert_eq!(hash.len(), 64);
        assert_eq!(hash, RuleSet::default().hash());
        assert_ne!(hash, RuleSet { rare_token_limit: 51, ..RuleSet::default() }.hash());
        let value = serde_json::json!({ "engine": ENGINE, "parameters": RuleSet::default() });
        let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
        let expected: String = Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, expected);
    }

    #[test]
    fn a_rule_set_is_read_back_and_unknown_parameters_are_refused() {
        let rules: RuleSet = toml::from_str("rare_token_limit = 7").unwrap();
        assert_eq!(rules, RuleSet { rare_token_limit: 7, ..RuleSet::default() });
        assert!(toml::from_str::<RuleSet>("rare_tokens = 7").is_err());
    }
}
