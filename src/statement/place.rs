//! Where in a file's text something stands: byte offsets as lines and columns.

/// Turns offsets into lines and columns. It remembers the last answer, so that answers in file order cost one pass, and
/// a step back costs only the way back.
#[derive(Debug)]
pub(super) struct Places<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
}

// === impl Places ===

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, column: 1 }
    }

    /// Line and column, both from 1, columns in characters. An offset past the end is the end.
    pub(super) fn of(&mut self, at: usize) -> (u32, u32) {
        let at = at.min(self.text.len());
        let bytes = self.text.as_bytes();
        let between = &bytes[at.min(self.at)..at.max(self.at)];
        let lines = newlines(between);
        self.line = if at < self.at { self.line.saturating_sub(lines) } else { self.line.saturating_add(lines) };
        self.column = if lines > 0 {
            let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            characters(&bytes[start..at]).saturating_add(1)
        } else if at < self.at {
            self.column.saturating_sub(characters(between))
        } else {
            self.column.saturating_add(characters(between))
        };
        self.at = at;
        (self.line, self.column)
    }
}

#[expect(clippy::naive_bytecount, reason = "once over the file, and vectorised as it is; not worth a dependency")]
fn newlines(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Characters, not bytes: continuation bytes of UTF-8 begin with the bits 10.
fn characters(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters_and_in_any_order() {
        let text = "ab\nçé x\n\nz";
        let mut places = Places::new(text);
        let x = text.find('x').unwrap();
        for (at, place) in [(x, (2, 4)), (text.len(), (4, 2)), (1, (1, 2)), (x, (2, 4)), (x - 1, (2, 3)), (0, (1, 1))] {
            assert_eq!(places.of(at), place, "byte {at}");
        }
    }
}
