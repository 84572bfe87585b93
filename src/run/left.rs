//! The files of the inbox of which nothing was taken, remembered as long as they look as they look: each is told once.

use std::collections::{BTreeMap, BTreeSet};

use super::runner::Fingerprint;
use crate::inbox::{Entry, ReadError};
use crate::report::left::{FileLeft, WhyLeft};

/// What is known of them. A new leader knows nothing, and looks.
#[derive(Debug, Default)]
pub(super) struct LeftFiles {
    now: BTreeMap<String, (Fingerprint, FileLeft)>,
    /// As they were stored last; none before this leader looked.
    stored: Option<Vec<FileLeft>>,
}

// === impl LeftFiles ===

impl LeftFiles {
    /// Forgets files that are gone, or look otherwise.
    pub(super) fn keep(&mut self, settled: &[Entry]) {
        let there: BTreeSet<_> = settled.iter().map(|entry| (entry.name.as_str(), entry.fingerprint())).collect();
        self.now.retain(|name, (fingerprint, _)| there.contains(&(name.as_str(), *fingerprint)));
    }

    /// A file was left. Is that news?
    pub(super) fn left(&mut self, entry: &Entry, why: WhyLeft, told: String) -> bool {
        let left = FileLeft { why, name: entry.name.clone(), told };
        let known = self.now.insert(entry.name.clone(), (entry.fingerprint(), left.clone()));
        known.is_none_or(|(_, before)| before != left)
    }

    /// A file was taken, or needs no word.
    pub(super) fn taken(&mut self, entry: &Entry) {
        self.now.remove(&entry.name);
    }

    /// All of them, after a look. What was said of a file that has not settled stands until it has: a new leader has not
    /// looked at it yet.
    pub(super) fn all<'a>(&self, settling: impl IntoIterator<Item = &'a str>) -> Vec<FileLeft> {
        let settling: BTreeSet<&str> = settling.into_iter().collect();
        let stands = |left: &&FileLeft| settling.contains(left.name.as_str()) && !self.now.contains_key(&left.name);
        let before = self.stored.iter().flatten().filter(stands);
        let mut files: Vec<_> = self.now.values().map(|(_, left)| left).chain(before).cloned().collect();
        files.sort();
        files
    }

    /// As they are stored; none before this leader looked.
    pub(super) fn stored(&self) -> Option<&[FileLeft]> {
        self.stored.as_deref()
    }

    /// They are stored so.
    pub(super) fn store(&mut self, files: Vec<FileLeft>) {
        self.stored = Some(files);
    }
}

/// Why a file that could not be read was left; none where it only changed, and is read when it has settled.
pub(super) fn why(error: &ReadError) -> Option<(WhyLeft, String)> {
    match error {
        ReadError::Changed { .. } => None,
        ReadError::TooLarge { size, .. } => {
            Some((WhyLeft::TooLarge, format!("{size} bytes; the most is {}", crate::inbox::MAX_BYTES)))
        }
        ReadError::Io { source, .. } => Some((WhyLeft::Unreadable, source.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::inbox::Folder;
    use crate::instant::Boot;

    #[test]
    fn a_file_is_told_of_once_until_it_looks_otherwise_or_the_reason_is_another() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("bank")).unwrap();
        let mut folder = Folder::new(root.path().to_owned(), Duration::ZERO, [], false);
        let mut at = 0;
        let mut look = |bytes: &str| {
            std::fs::write(root.path().join("bank/a.ofx"), bytes).unwrap();
            at += 2;
            folder.look(Boot::from_duration(Duration::from_secs(at - 1))).unwrap();
            folder.look(Boot::from_duration(Duration::from_secs(at))).unwrap().settled
        };
        let denied =
            || ReadError::Io { name: "bank/a.ofx".into(), source: std::io::ErrorKind::PermissionDenied.into() };
        let (why, told) = super::why(&denied()).unwrap();
        assert_eq!((why, told.as_str()), (WhyLeft::Unreadable, "permission denied"));
        let mut left = LeftFiles::default();
        let first = look("one");
        assert!(left.left(&first[0], why, told.clone()) && !left.left(&first[0], why, told.clone()));
        left.store(left.all([]));
        left.keep(&first);
        assert_eq!(left.stored(), Some(left.all([]).as_slice()));
        assert!(left.left(&first[0], why, "another reason".into()));
        let second = look("other");
        left.keep(&second);
        assert!(left.all([]).is_empty(), "it looks otherwise");
        assert_eq!(left.all(["bank/a.ofx"]).len(), 1, "and has not settled");
        assert!(left.left(&second[0], why, told));
    }
}
