//! Text of statements: how it is folded where two spellings must compare equal.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Upper case, accents dropped, every run of other characters than letters and digits one space, trimmed: the form in
/// which texts are compared (`"Débito  automático-conta"` → `"DEBITO AUTOMATICO CONTA"`).
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_uppercase) {
        if c.is_alphanumeric() {
            if gap && !out.is_empty() {
                out.push(' ');
            }
            gap = false;
            out.push(c);
        } else {
            gap = true;
        }
    }
    out
}

/// Runs of white space become one space, and the ends are trimmed. Nothing else changes.
pub fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_makes_two_spellings_equal() {
        assert_eq!(folded("  Débito  automático-conta "), "DEBITO AUTOMATICO CONTA");
        assert_eq!(folded("DEBITO AUTOMATICO CONTA"), "DEBITO AUTOMATICO CONTA");
        assert_eq!(folded("--"), "");
        assert_eq!(single_spaced(" a\t b\nc "), "a b c");
    }
}
