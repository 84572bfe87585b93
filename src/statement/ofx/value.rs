//! The text of an element as the value that it means: entities decoded, comments gone, ends trimmed.

use std::borrow::Cow;

use super::tree::ASIDES;

/// Entities that banks write. Others are text, as is a bare `&`: `AT&T`.
const ENTITIES: [(&str, char); 6] =
    [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' ')];

/// The longest reference that is looked for, without `&` and `;`: `#x10FFFF`.
const LONGEST: usize = 8;

/// The value of a text as written, which is trimmed already.
pub(super) fn value(raw: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte >= b' ' && !matches!(byte, b'&' | b'<' | 0x7f);
    if raw.bytes().all(plain) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['&', '<']) {
        out.push_str(&rest[..at]);
        let found = &rest[at..];
        let (said, length) = if found.starts_with('&') { reference(found) } else { aside(found) };
        out.push_str(&said);
        rest = &found[length..];
    }
    out.push_str(rest);
    if out.chars().any(char::is_control) {
        out = out.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    }
    Cow::Owned(out.trim().to_owned())
}

/// What the `&` at the beginning says, and how many bytes say it.
fn reference(text: &str) -> (Cow<'_, str>, usize) {
    let bare = (Cow::Borrowed("&"), 1);
    let Some(end) = text.bytes().take(LONGEST + 2).position(|byte| byte == b';') else { return bare };
    let name = &text[1..end];
    let found = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        }
        .and_then(char::from_u32)
        .filter(|c| !c.is_control()),
        None => ENTITIES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, c)| *c),
    };
    found.map_or(bare, |c| (Cow::Owned(c.to_string()), end + 1))
}

/// What the `<` at the beginning says: a CDATA section says its content, a comment or instruction nothing, any other is
/// a character.
fn aside(text: &str) -> (Cow<'_, str>, usize) {
    for (begins, ends) in ASIDES {
        if let Some(inner) = text[1..].strip_prefix(begins)
            && let Some(end) = inner.find(ends)
        {
            let said = if begins.ends_with('[') { &inner[..end] } else { "" };
            return (Cow::Borrowed(said), 1 + begins.len() + end + ends.len());
        }
    }
    (Cow::Borrowed("<"), 1)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn entities_are_decoded_once_and_a_bare_ampersand_is_itself() {
        assert_eq!(value("AT&T"), "AT&T");
        assert_eq!(value("A &amp; B &lt;C&gt; &quot;D&quot; &#201;&#xE7;"), "A & B <C> \"D\" Éç");
        assert_eq!(value("&amp;amp; &copy; &; &#0; &#xFFFFFFFF; &"), "&amp; &copy; &; &#0; &#xFFFFFFFF; &");
        assert_eq!(value("Pão&nbsp;&"), "Pão &");
        assert_eq!(value("&ééééééé;"), "&ééééééé;");
    }

    #[test]
    fn comments_go_and_cdata_is_what_it_holds() {
        assert_eq!(value("a<!-- x < y --> b <![CDATA[<c> & &amp; d]]> e < f"), "a b <c> & &amp; d e < f");
    }

    #[test]
    fn control_characters_are_spaces() {
        assert_eq!(value("a\tb\u{1b}[2Jc\u{7f}d\n"), "a b [2Jc d");
    }
}
