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

    /// All of them, as they are stored.
    pub(super) fn all(&self) -> Vec<FileLeft> {
        let mut files: Vec<_> = self.now.values().map(|(_, left)| left.clone()).collect();
        files.sort();
        files
    }

    /// Is it not known that they are stored as they are?
    pub(super) fn changed(&self) -> bool {
        self.stored.as_ref() != Some(&self.all())
    }

    /// They are stored so.
    pub(super) fn stored(&mut self, files: Vec<FileLeft>) {
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
        assert!(left.changed());
        left.stored(left.all());
        left.keep(&first);
        assert!(!left.changed());
        assert!(left.left(&first[0], why, "another reason".into()));
        let second = look("other");
        left.keep(&second);
        assert!(left.all().is_empty() && left.changed(), "it looks otherwise");
        assert!(left.left(&second[0], why, told));
    }
}
