//! What people say on the command line for others to read later: who asks, and why.

/// A reason is a sentence or two, not a document.
const REASON: usize = 500;
/// A name.
const ACTOR: usize = 100;

/// `--reason`: one line of at most 500 characters.
pub(super) fn reason(text: &str) -> Result<String, String> {
    word(text, REASON)
}

/// `--actor`: one line of at most 100 characters.
pub(super) fn actor(text: &str) -> Result<String, String> {
    word(text, ACTOR)
}

fn word(text: &str, most: usize) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    let length = text.chars().count();
    if length > most {
        return Err(format!("has {length} characters, and may have {most}: say it in a line, and refer to the rest"));
    }
    match text.chars().find(|letter| crate::report::text::acts(*letter)) {
        Some(letter) => Err(format!("has the character {}: it is one line of plain text", letter.escape_default())),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_history_is_one_bounded_line_of_plain_text() {
        assert_eq!(reason(" the bank is closed – até amanhã ").unwrap(), "the bank is closed – até amanhã");
        assert_eq!(reason(" \t").unwrap_err(), "is empty");
        assert!(reason("done\n2026-11-27  complete").unwrap_err().contains("\\n"));
        assert!(actor("eve\u{1b}[2J").unwrap_err().contains("\\u{1b}"));
        assert!(actor(&"x".repeat(101)).unwrap_err().starts_with("has 101 characters, and may have 100"));
        assert_eq!(reason(&"ç".repeat(500)).unwrap().chars().count(), 500);
    }
}
