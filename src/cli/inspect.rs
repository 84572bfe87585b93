//! `counterfoil inspect`: what a statement file says, and whether its figures agree.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::files::gather;
use super::{Exit, out};
use crate::inbox::MAX_BYTES;
use crate::report::inspect::Inspected;
use crate::report::inspect::text::{self, Tally};
use crate::statement::{Input, detect};

/// Show what statement files say: balances, lines, and whether their own figures agree.
///
/// Needs no server and no settings. The format is told by the content, never by the name. Exit code: 0 all accepted; 2
/// usage; 3 a file was refused, or its balances do not close (the rest is still shown).
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// Statement files, or folders of them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// As JSON (docs/schema/inspect.schema.json)
    #[arg(long)]
    json: bool,
    /// List every line (JSON has them in any case)
    #[arg(long)]
    lines: bool,
}

// === impl Inspect ===

impl Inspect {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let sources = gather("inspect", &self.files)?;
        let mut out = out::stdout();
        let mut tally = Tally::default();
        // One file at a time: memory is bounded by the largest, and what was read is shown even if the next is damaged.
        let inspected = sources.into_iter().map(|source| match read(&source.path) {
            Ok(bytes) => {
                let parsed = detect::parse(&Input { bytes: &bytes });
                Inspected::new(source.name, &bytes, parsed)
            }
            Err(error) => Inspected::unreadable(source.name, &format!("cannot be read: {error}")),
        });
        let inspected = inspected.inspect(|file| tally.add(file));
        let written = if self.json { json(&mut out, inspected) } else { prose(&mut out, inspected, self.lines) };
        let tally_line = |out: &mut dyn Write| if self.json { Ok(()) } else { out.write_all(tally.line().as_bytes()) };
        let written = written.and_then(|()| tally_line(&mut out)).and_then(|()| out.flush());
        written.context("standard output cannot be written")?;
        Ok(if tally.all_accepted() { Exit::Done } else { Exit::Refused })
    }
}

fn json(out: &mut impl Write, files: impl Iterator<Item = Inspected>) -> io::Result<()> {
    out.write_all(b"{\"files\":[")?;
    for (at, file) in files.enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &file.shown())?;
    }
    out.write_all(b"\n]}\n")
}

fn prose(out: &mut impl Write, mut files: impl Iterator<Item = Inspected>, lines: bool) -> io::Result<()> {
    files.try_for_each(|file| out.write_all(text::file(&file, lines).as_bytes()))
}

fn read(path: &std::path::Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > MAX_BYTES {
        return Err(io::Error::other(format!("{size} bytes; files over {MAX_BYTES} are not read")));
    }
    fs::read(path)
}
