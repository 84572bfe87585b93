//! The files that a command is given: named one by one, or by folders that are searched in depth.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;

use super::progress::Progress;
use super::{UsageError, out};
use crate::inbox::{MAX_BYTES, PassedOver, is_ignored};

/// How deep folders may nest.
const MAX_DEPTH: usize = 16;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    /// What reports call it: its own name, or its path below the folder that was named. The same wherever that folder
    /// lies.
    pub(super) name: String,
    /// Where it lies.
    pub(super) path: PathBuf,
    /// The folder below the one that was named: in an inbox, the account's.
    pub(super) folder: Option<String>,
}

/// The files of these paths, by name, each once. Of folders, what an inbox passes over is passed over (dot files, links,
/// unfinished names); what is named itself is taken.
pub(super) fn gather(option: &str, paths: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| {
            UsageError(format!(
                "{option} {}: {error}: name a file that can be read, or a folder of them",
                path.display()
            ))
        })?;
        let before = sources.len();
        if metadata.is_dir() {
            let mut passed_over = PassedOver::default();
            walk(path, &mut Vec::new(), &mut sources, &mut passed_over)?;
            let note = if passed_over.is_empty() {
                String::new()
            } else {
                format!("{passed_over} in it passed over; a link is followed where it is named itself")
            };
            if sources.len() == before {
                let note = if note.is_empty() { note } else { format!(" ({note})") };
                return Err(UsageError(format!("{option} {}: no file is in this folder{note}", path.display())).into());
            }
            if !note.is_empty() {
                out::say(format!("counterfoil: {option} {}: {note}", path.display()));
            }
        } else if !metadata.is_file() {
            let kind = special(metadata.file_type());
            let problem = format!("{option} {}: is {kind}; name a file, or a folder of them", path.display());
            return Err(UsageError(problem).into());
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            sources.push(Source { name, path: path.clone(), folder: None });
        }
    }
    sources.sort();
    sources.dedup_by(|a, b| a.path == b.path);
    Ok(sources)
}

/// What something is that is neither a file nor a folder. Reading one might wait for ever.
fn special(kind: fs::FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn walk(
    folder: &Path,
    below: &mut Vec<String>,
    sources: &mut Vec<Source>,
    passed_over: &mut PassedOver,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot list {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Of the name itself: a link in a folder is somebody else's file, or a loop.
        let kind = entry.file_type().with_context(cannot)?;
        if is_ignored(&name) {
            continue;
        }
        if !kind.is_dir() && !kind.is_file() {
            passed_over.count(kind);
            continue;
        }
        below.push(name);
        if kind.is_dir() && below.len() < MAX_DEPTH {
            walk(&entry.path(), below, sources, passed_over)?;
        } else if kind.is_file() {
            let folder = (below.len() > 1).then(|| below[0].clone());
            sources.push(Source { name: below.join("/"), path: entry.path(), folder });
        }
        below.pop();
    }
    Ok(())
}

/// Reads each file and makes something of its bytes, on as many threads as the machine has cores; the answers are in the
/// order of the files. A file that cannot be read ends the command: a result without it would be another result.
pub(super) fn read_each<T: Send>(
    sources: &[Source],
    progress: &Progress,
    make: impl Fn(&Source, &[u8]) -> T + Sync,
) -> anyhow::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<Option<anyhow::Result<T>>>> = Mutex::new(sources.iter().map(|_| None).collect());
    let work = || {
        while let Some((at, source)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            sources.get(at).map(|source| (at, source))
        } {
            let answer = read(&source.path)
                .with_context(|| format!("cannot read {}", source.path.display()))
                .map(|bytes| make(source, &bytes));
            progress.step();
            // A poisoned lock means that another thread panicked, and the scope will say so.
            made.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[at] = Some(answer);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(sources.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().flatten().collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > MAX_BYTES {
        return Err(io::Error::other(format!("{size} bytes: files over {MAX_BYTES} are not read")));
    }
    fs::read(path)
}
