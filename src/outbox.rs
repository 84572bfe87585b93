//! Where reports go: a folder, for now.
//!
//! A report is published after the transaction that stored it, so publishing may be cut off at any point and is simply
//! done again: a file appears whole under its name or not at all, and writing the same bytes once more changes nothing.
//! The database is the truth; a file that differs from it is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

/// An outbox in a folder.
#[derive(Debug, Clone)]
pub struct Outbox {
    root: PathBuf,
}

/// What publishing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The file was not there, or had other bytes; now it has these.
    Written,
    /// It was there, with these bytes.
    Unchanged,
}

/// Why a report could not be published. It stays in the database, and is tried again.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// The system said no.
    #[error("cannot publish {}: {source}", path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A name that would leave the outbox.
    #[error("{0:?} is no name below the outbox")]
    Outside(String),
}

// === impl Outbox ===

impl Outbox {
    /// An outbox in a folder, which is made with the first report.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Makes `bytes` appear under `name`, a path below the outbox. `nonce` makes the name of the temporary file unique
    /// among all that may write at once.
    pub fn publish(&self, name: &str, bytes: &[u8], nonce: uuid::Uuid) -> Result<Published, OutboxError> {
        let relative = Path::new(name);
        let below = |part: Component<'_>| matches!(part, Component::Normal(_));
        let (Some(file), true) = (relative.file_name(), relative.components().all(below)) else {
            return Err(OutboxError::Outside(name.to_owned()));
        };
        let path = self.root.join(relative);
        let io = |source| OutboxError::Io { path: path.clone(), source };
        if holds(&path, bytes) {
            return Ok(Published::Unchanged);
        }
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(io)?;
        // A dot and an end that the rules of the inbox pass over: an outbox that is somebody's inbox hands on nothing
        // unfinished.
        let prefix = format!(".{}.", file.to_string_lossy());
        let temporary = folder.join(format!("{prefix}{nonce}.tmp"));
        let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut out| {
            out.write_all(bytes)?;
            // Before the rename: else a crash of the machine could leave the name with no bytes behind it.
            out.sync_all()
        });
        if let Err(source) = written {
            let _ = fs::remove_file(&temporary);
            return Err(io(source));
        }
        if let Err(source) = fs::rename(&temporary, &path) {
            // Another publisher, who swept this temporary file away as a leftover, has published the same bytes.
            if source.kind() == ErrorKind::NotFound && holds(&path, bytes) {
                return Ok(Published::Unchanged);
            }
            let _ = fs::remove_file(&temporary);
            return Err(io(source));
        }
        sweep(folder, &prefix);
        // And after it: the rename itself is in the folder. Its parents may be new too.
        for made in folder.ancestors().take_while(|made| made.starts_with(&self.root)) {
            File::open(made).and_then(|made| made.sync_all()).map_err(io)?;
        }
        Ok(Published::Written)
    }
}

/// Does the file have exactly these bytes?
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let same_size = file.metadata().is_ok_and(|metadata| metadata.len() == bytes.len() as u64);
    let mut found = Vec::new();
    same_size && file.read_to_end(&mut found).is_ok() && found == bytes
}

/// Removes what publishers that were killed left behind for one name. Best effort: a leftover harms nobody.
fn sweep(folder: &Path, prefix: &str) {
    let Ok(names) = fs::read_dir(folder) else { return };
    for name in names.flatten() {
        let text = name.file_name().to_string_lossy().into_owned();
        if text.starts_with(prefix) && Path::new(&text).extension().is_some_and(|end| end == "tmp") {
            let _ = fs::remove_file(name.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(outbox: &Outbox, name: &str, bytes: &[u8]) -> Result<Published, OutboxError> {
        outbox.publish(name, bytes, uuid::Uuid::new_v4())
    }

    #[test]
    fn publishing_the_same_bytes_twice_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(root.path().join("outbox"));
        let name = "2026-10-15/itau-main/r0.txt";
        assert_eq!(publish(&outbox, name, b"report").unwrap(), Published::Written);
        let path = root.path().join("outbox").join(name);
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(publish(&outbox, name, b"report").unwrap(), Published::Unchanged);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        fs::write(&path, b"edited").unwrap();
        assert_eq!(publish(&outbox, name, b"report").unwrap(), Published::Written, "the database is the truth");
        assert_eq!(fs::read(&path).unwrap(), b"report");
    }

    #[test]
    fn what_a_killed_publisher_left_behind_is_swept_and_never_shown() {
        let root = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(root.path().to_owned());
        fs::create_dir(root.path().join("d")).unwrap();
        fs::write(root.path().join("d/.r0.txt.some-nonce.tmp"), b"rep").unwrap();
        fs::write(root.path().join("d/.r1.txt.some-nonce.tmp"), b"rep").unwrap();
        publish(&outbox, "d/r0.txt", b"report").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(root.path().join("d")).unwrap().map(|name| name.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".r1.txt.some-nonce.tmp", "r0.txt"]);
    }

    #[test]
    fn two_publishers_at_once_leave_one_whole_file() {
        let root = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(root.path().to_owned());
        let bytes = vec![b'x'; 1 << 18];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for at in 0..10 {
                        publish(&outbox, &format!("d/{at}"), &bytes).unwrap();
                    }
                });
            }
        });
        for at in 0..10 {
            assert_eq!(fs::read(root.path().join(format!("d/{at}"))).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(root.path().join("d")).unwrap().count(), 10, "no temporary file is left");
    }

    #[test]
    fn a_name_that_would_leave_the_outbox_is_refused() {
        let outbox = Outbox::new(PathBuf::from("/nonexistent"));
        for name in ["../a", "/etc/a", "", ".", "a/../../b"] {
            assert!(matches!(publish(&outbox, name, b""), Err(OutboxError::Outside(_))), "{name:?}");
        }
    }
}
