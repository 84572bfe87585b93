//! Standard output and standard error: the only place that writes to them.
//!
//! Whoever reads may stop early (`counterfoil breaks | head`). That is no failure of ours: what they did not want is
//! dropped, the command goes on to its end, and its exit code says what it would have said to a patient reader. So a
//! `run --wait` whose reader left still tells the truth. Anything else that keeps a line from being written (a full disk)
//! is an error, since somebody wanted it.

use std::fmt::Write as _;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};

use anyhow::Context;
use serde::Serialize;

use crate::report::text::{acts, shown};

/// A writer whose reader may leave.
#[derive(Debug)]
pub(super) struct Patient<W> {
    to: W,
    /// The reader left: nothing is written any more.
    left: bool,
}

/// Standard output, for what is written piece by piece. It must be flushed: only then is it known that it was written.
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes there")]
pub(super) fn stdout() -> BufWriter<Patient<Stdout>> {
    BufWriter::new(Patient::new(io::stdout()))
}

/// Writes this, whole, to standard output.
pub(super) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = stdout();
    out.write_all(bytes).and_then(|()| out.flush()).context("standard output cannot be written")
}

/// Writes lines of text; it ends them itself. Nothing in them acts on a terminal but their ends.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    bytes(each(text).as_bytes())
}

/// Writes one line, whatever is in it.
pub(super) fn line(line: impl AsRef<str>) -> anyhow::Result<()> {
    bytes(format!("{}\n", shown(line.as_ref())).as_bytes())
}

/// Writes lines, each one whatever is in it.
pub(super) fn lines(lines: &[String]) -> anyhow::Result<()> {
    bytes(joined(lines).as_bytes())
}

/// Lines as [`lines`] writes them.
pub(super) fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |all, line| all + &shown(line) + "\n")
}

/// Draws lines of text over what the terminal shows: home, and clear to the end.
pub(super) fn screen(text: &str) -> anyhow::Result<()> {
    bytes(format!("\x1b[H\x1b[J{}", each(text)).as_bytes())
}

/// Writes one line of JSON.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    bytes(in_json(value)?.as_bytes())
}

fn each(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// One line of JSON, as [`json`] writes it. JSON escapes most of ASCII's control characters; those beyond, which stand in
/// strings alone, are escaped here the same way.
pub(super) fn in_json(value: &impl Serialize) -> anyhow::Result<String> {
    let json = serde_json::to_string(value)?;
    let mut safe = String::with_capacity(json.len() + 1);
    for letter in json.chars() {
        if acts(letter) {
            write!(safe, "\\u{:04x}", u32::from(letter))?;
        } else {
            safe.push(letter);
        }
    }
    safe.push('\n');
    Ok(safe)
}

/// How many columns text may be wide: those of the terminal; else what COLUMNS says; else 100.
pub(super) fn width() -> usize {
    let said = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    terminal().or_else(said).unwrap_or(100)
}

/// The width of the terminal that is written to. A pager may stand between: then it is the one that errors go to.
#[expect(clippy::disallowed_methods, reason = "it is asked for its width")]
fn terminal() -> Option<usize> {
    let of = |size: rustix::io::Result<rustix::termios::Winsize>| size.ok().map(|size| usize::from(size.ws_col));
    let width = of(rustix::termios::tcgetwinsize(io::stdout()));
    width.or_else(|| of(rustix::termios::tcgetwinsize(io::stderr()))).filter(|columns| *columns > 0)
}

/// Is standard output a terminal?
#[expect(clippy::disallowed_methods, reason = "it is asked what it is")]
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Says something on standard error. If nobody hears it there, nobody can be told.
pub(super) fn say(words: impl AsRef<str>) {
    let _ = io::stderr().write_all(format!("{}\n", each(words.as_ref())).as_bytes());
}

// === impl Patient ===

impl<W> Patient<W> {
    fn new(to: W) -> Self {
        Self { to, left: false }
    }
}

impl<W: Write> Patient<W> {
    fn unless_left<T>(&mut self, dropped: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.left {
            return Ok(dropped);
        }
        match write(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.left = true;
                Ok(dropped)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_left(bytes.len(), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_left((), Write::flush)
    }
}
