//! The inbox as a folder of this machine (or one that is mounted).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Content, Entry, InboxError, MAX_BYTES, Mark, PassedOver, ReadError};
use crate::account::AccountId;
use crate::instant::Boot;
use crate::matching::Side;

/// How many folders deep a file may lie. Links are not followed, so depth is somebody's choice and never a loop.
const MAX_DEPTH: usize = 16;

/// Names under which programs keep what they have not finished writing.
const UNFINISHED: [&str; 4] = [".tmp", ".part", ".filepart", ".crdownload"];

/// An inbox in a folder. Remembers, in memory, since when each file has looked as it looks.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    settle: Duration,
    accounts: BTreeSet<AccountId>,
    books: bool,
    seen: BTreeMap<PathBuf, Seen>,
}

/// Since when a file has looked as it looks.
#[derive(Debug, Clone, Copy)]
struct Seen {
    mark: Mark,
    since: Boot,
    first: Boot,
}

/// What one look found, in order of side (bank first) and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Files that may be read.
    pub settled: Vec<Entry>,
    /// Files that changed, or that were seen for the first time, less than `settle` ago: name, and when it was first seen.
    pub settling: Vec<(String, Boot)>,
    /// How many names were passed over as hidden or unfinished.
    pub ignored: usize,
    /// What else was passed over.
    pub passed_over: PassedOver,
}

// === impl Folder ===

impl Folder {
    /// An inbox. `accounts` are the ids whose folders pin their files; `books` says whether books come from it, so that
    /// a folder for them must be there.
    pub fn new(root: PathBuf, settle: Duration, accounts: impl IntoIterator<Item = AccountId>, books: bool) -> Self {
        Self { root, settle, accounts: accounts.into_iter().collect(), books, seen: BTreeMap::new() }
    }

    /// How long a file must look the same.
    pub fn settle(&self) -> Duration {
        self.settle
    }

    /// Can it be read at all? What a replica asks before it campaigns.
    pub fn check(&self) -> Result<(), InboxError> {
        list(&self.root)?;
        for (side, needed) in [(Side::Bank, true), (Side::Book, self.books)] {
            let path = self.root.join(side.name());
            match fs::read_dir(&path) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if needed {
                        return Err(InboxError::Bare { path: self.root.clone(), missing: side.name() });
                    }
                }
                Err(source) => return Err(InboxError::Unreadable { path, source }),
            }
        }
        Ok(())
    }

    /// Looks at every name. `now` never runs backwards.
    pub fn look(&mut self, now: Boot) -> Result<Look, InboxError> {
        self.check()?;
        let mut look = Look::default();
        let mut present = BTreeMap::new();
        for side in [Side::Bank, Side::Book] {
            if side == Side::Book && !self.books {
                continue;
            }
            let mut entries = Vec::new();
            self.walk(side, &mut entries, &mut look)?;
            entries.sort();
            for entry in entries {
                let seen = match self.seen.get(&entry.path) {
                    Some(seen) if seen.mark == entry.mark => *seen,
                    Some(seen) => Seen { mark: entry.mark, since: now, first: seen.first },
                    None => Seen { mark: entry.mark, since: now, first: now },
                };
                present.insert(entry.path.clone(), seen);
                let since = seen.since;
                if now.since(since) >= self.settle && since < now {
                    look.settled.push(entry);
                } else {
                    look.settling.push((entry.name, seen.first));
                }
            }
        }
        self.seen = present;
        Ok(look)
    }

    /// Reads a file that has settled. It is hashed, read, and compared: a writer that keeps size and modification time
    /// in place is caught by the hash, and a link put in its place by the inode.
    pub fn read(entry: &Entry) -> Result<Content, ReadError> {
        let name = &entry.name;
        let io = |source| ReadError::Io { name: name.clone(), source };
        let changed = || ReadError::Changed { name: name.clone() };
        if entry.mark.size > MAX_BYTES {
            return Err(ReadError::TooLarge { name: name.clone(), size: entry.mark.size });
        }
        let open = || -> Result<File, ReadError> {
            let file = File::open(&entry.path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => changed(),
                _ => io(error),
            })?;
            if Mark::of(&file.metadata().map_err(io)?) == entry.mark { Ok(file) } else { Err(changed()) }
        };
        let before = {
            let mut file = open()?;
            let mut hasher = Sha256::new();
            let mut chunk = vec![0; 1 << 16];
            loop {
                match file.read(&mut chunk).map_err(io)? {
                    0 => break,
                    read => hasher.update(&chunk[..read]),
                }
            }
            <[u8; 32]>::from(hasher.finalize())
        };
        let mut file = open()?;
        let mut bytes = Vec::with_capacity(usize::try_from(entry.mark.size).unwrap_or(0));
        // One byte more than the look saw is enough to know that it grew, and no writer can make us read for ever.
        (&mut file).take(entry.mark.size + 1).read_to_end(&mut bytes).map_err(io)?;
        let sha256 = <[u8; 32]>::from(Sha256::digest(&bytes));
        let after = Mark::of(&file.metadata().map_err(io)?);
        if after == entry.mark && bytes.len() as u64 == entry.mark.size && sha256 == before {
            Ok(Content { bytes, sha256 })
        } else {
            Err(changed())
        }
    }

    fn walk(&self, side: Side, entries: &mut Vec<Entry>, look: &mut Look) -> Result<(), InboxError> {
        let mut folders = vec![(self.root.join(side.name()), side.name().to_owned(), None::<AccountId>, 1)];
        while let Some((folder, name, pinned, depth)) = folders.pop() {
            if depth > MAX_DEPTH {
                look.passed_over.folders += 1;
                continue;
            }
            let names = match list(&folder) {
                Ok(names) => names,
                // Taken away between the listing of its parent and now: then it holds nothing. (A folder of books that
                // is not needed and not there ends here too.)
                Err(InboxError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
                // Somebody's own folder in the inbox; its neighbours are read all the same.
                Err(_) if depth > 1 => {
                    look.passed_over.folders += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for child in names {
                let Some(last) = child.file_name().map(|last| last.to_string_lossy().into_owned()) else { continue };
                // Of the name itself and never of what a link points at.
                let metadata = match fs::symlink_metadata(&child) {
                    Ok(metadata) => metadata,
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(source) => return Err(InboxError::Unreadable { path: child, source }),
                };
                if is_ignored(&last) {
                    look.ignored += 1;
                    continue;
                }
                if !(metadata.is_dir() || metadata.is_file()) {
                    look.passed_over.count(metadata.file_type());
                    continue;
                }
                let name = format!("{name}/{last}");
                if metadata.is_dir() {
                    let pinned = match (depth, side) {
                        (1, Side::Bank) => AccountId::new(&last).ok().filter(|id| self.accounts.contains(id)),
                        _ => pinned.clone(),
                    };
                    folders.push((child, name, pinned, depth + 1));
                } else {
                    let mark = Mark::of(&metadata);
                    entries.push(Entry { name, side, account: pinned.clone(), path: child, mark });
                }
            }
        }
        Ok(())
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, InboxError> {
    let unreadable = |source| InboxError::Unreadable { path: folder.to_owned(), source };
    fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)
}

/// Is it a name that is passed over: a dot file, or one that a program has not finished writing?
pub(crate) fn is_ignored(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.starts_with('.') || UNFINISHED.iter().any(|end| lower.ends_with(end))
}

// === impl Mark ===

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        let seconds = u64::try_from(metadata.mtime()).unwrap_or(0);
        let nanos = u32::try_from(metadata.mtime_nsec()).unwrap_or(0);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: Duration::new(seconds, nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const SETTLE: Duration = Duration::from_secs(10);

    fn inbox() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        for side in ["bank", "book"] {
            fs::create_dir(root.path().join(side)).unwrap();
        }
        let accounts = ["itau-main", "wise-eur"].map(|id| AccountId::new(id).unwrap());
        let folder = Folder::new(root.path().to_owned(), SETTLE, accounts, true);
        (root, folder)
    }

    fn put(root: &tempfile::TempDir, name: &str, bytes: &[u8]) {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn second(second: u64) -> Boot {
        Boot::from_duration(Duration::from_secs(1_000 + second))
    }

    fn names(look: &Look) -> Vec<&str> {
        look.settled.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn a_file_is_taken_when_two_looks_far_enough_apart_see_it_the_same() {
        let (root, mut folder) = inbox();
        put(&root, "bank/a.ofx", b"whole");
        let first = folder.look(second(0)).unwrap();
        assert_eq!(first, Look { settling: vec![("bank/a.ofx".into(), second(0))], ..Look::default() });
        assert!(names(&folder.look(second(9)).unwrap()).is_empty());
        assert_eq!(names(&folder.look(second(10)).unwrap()), ["bank/a.ofx"]);
    }

    #[test]
    fn a_folder_too_deep_or_that_is_none_any_more_keeps_nothing_else_from_being_read() {
        let (root, mut folder) = inbox();
        put(&root, "bank/a.ofx", b"whole");
        put(&root, &format!("bank/{}/b.ofx", vec!["d"; MAX_DEPTH + 1].join("/")), b"too deep");
        folder.look(second(0)).unwrap();
        let look = folder.look(second(10)).unwrap();
        assert_eq!((names(&look), look.passed_over.folders), (vec!["bank/a.ofx"], 1));
        assert_eq!(look.passed_over.to_string(), "1 folder that cannot be read");
    }

    #[test]
    fn one_look_is_never_enough_even_without_a_settle_time() {
        let (root, mut folder) = inbox();
        folder.settle = Duration::ZERO;
        put(&root, "bank/a.ofx", b"whole");
        assert!(names(&folder.look(second(0)).unwrap()).is_empty());
        assert_eq!(names(&folder.look(second(1)).unwrap()), ["bank/a.ofx"]);
    }

    #[test]
    fn a_file_that_is_still_being_written_is_not_touched_until_it_has_settled() {
        let (root, mut folder) = inbox();
        put(&root, "bank/a.ofx", b"ha");
        folder.look(second(0)).unwrap();
        put(&root, "bank/a.ofx", b"half");
        assert!(names(&folder.look(second(11)).unwrap()).is_empty(), "it grew");
        assert!(names(&folder.look(second(20)).unwrap()).is_empty());
        let look = folder.look(second(21)).unwrap();
        assert_eq!(Folder::read(&look.settled[0]).unwrap().bytes, b"half");
    }

    #[test]
    fn a_file_that_changes_between_look_and_read_is_not_read() {
        let (root, mut folder) = inbox();
        put(&root, "bank/a.ofx", b"early");
        put(&root, "bank/b.ofx", b"there");
        put(&root, "bank/c.ofx", b"here");
        folder.look(second(0)).unwrap();
        let look = folder.look(second(10)).unwrap();
        put(&root, "bank/a.ofx", b"early and late");
        fs::remove_file(root.path().join("bank/b.ofx")).unwrap();
        fs::rename(root.path().join("bank/c.ofx"), root.path().join("d")).unwrap();
        symlink(root.path().join("d"), root.path().join("bank/c.ofx")).unwrap();
        for entry in &look.settled[..2] {
            assert!(matches!(Folder::read(entry), Err(ReadError::Changed { .. })), "{}", entry.name);
        }
        // The very same inode under another name is the same content; the next look passes the link over.
        assert_eq!(Folder::read(&look.settled[2]).unwrap().bytes, b"here");
        assert_eq!(folder.look(second(11)).unwrap().passed_over.links, 1);
    }

    #[test]
    fn folders_are_searched_in_depth_and_an_accounts_folder_pins_its_files() {
        let (root, mut folder) = inbox();
        put(&root, "bank/wise-eur/2026/10/a.xml", b"1");
        put(&root, "bank/2026/wise-eur/b.xml", b"2");
        put(&root, "bank/unknown/c.xml", b"3");
        put(&root, "book/itau-main/d.csv", b"4");
        folder.look(second(0)).unwrap();
        let look = folder.look(second(10)).unwrap();
        let seen: Vec<_> =
            look.settled.iter().map(|entry| (entry.name.as_str(), entry.side, entry.account.as_ref())).collect();
        let wise = AccountId::new("wise-eur").unwrap();
        assert_eq!(
            seen,
            [
                ("bank/2026/wise-eur/b.xml", Side::Bank, None),
                ("bank/unknown/c.xml", Side::Bank, None),
                ("bank/wise-eur/2026/10/a.xml", Side::Bank, Some(&wise)),
                ("book/itau-main/d.csv", Side::Book, None),
            ]
        );
        assert_eq!(Folder::read(&look.settled[2]).unwrap().sha256, <[u8; 32]>::from(Sha256::digest(b"1")));
    }

    #[test]
    fn links_special_files_dot_files_and_unfinished_names_are_passed_over_and_counted() {
        let (root, mut folder) = inbox();
        for name in ["bank/.a", "bank/b.TMP", "bank/c.ofx.part", "bank/d.filepart", "bank/e.crdownload", "bank/.git/f"]
        {
            put(&root, name, b"x");
        }
        symlink(root.path(), root.path().join("bank/loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("book/socket")).unwrap();
        folder.look(second(0)).unwrap();
        let look = folder.look(second(10)).unwrap();
        assert_eq!(look.passed_over.to_string(), "1 link and 1 special file");
        assert_eq!(
            look,
            Look { ignored: 6, passed_over: PassedOver { links: 1, special: 1, folders: 0 }, ..Look::default() }
        );
    }

    #[test]
    fn an_inbox_that_is_not_there_is_an_error_and_never_an_empty_day() {
        let (root, mut folder) = inbox();
        fs::remove_dir(root.path().join("bank")).unwrap();
        let error = folder.look(second(0)).unwrap_err().to_string();
        assert!(error.contains("no folder bank/: is it mounted?"), "{error}");
        fs::write(root.path().join("bank"), b"a file").unwrap();
        assert!(matches!(folder.check(), Err(InboxError::Unreadable { .. })));
        drop(root);
        assert!(matches!(folder.check(), Err(InboxError::Unreadable { .. })));
    }

    #[test]
    fn a_folder_of_ten_thousand_files_is_looked_at_whole() {
        let (root, mut folder) = inbox();
        for at in 0..10_000 {
            fs::write(root.path().join(format!("bank/{at:05}.ofx")), b"").unwrap();
        }
        folder.look(second(0)).unwrap();
        let look = folder.look(second(10)).unwrap();
        assert_eq!(look.settled.len(), 10_000);
        assert!(look.settled.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(folder.seen.len(), 10_000);
        for at in 0..10_000 {
            fs::remove_file(root.path().join(format!("bank/{at:05}.ofx"))).unwrap();
        }
        folder.look(second(11)).unwrap();
        assert!(folder.seen.is_empty(), "what is gone is forgotten");
    }
}
