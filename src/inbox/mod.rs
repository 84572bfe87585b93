//! Where files come from: a folder, for now.
//!
//! `bank/[<account id>/]…` holds statements and `book/…` the company's books, both searched in depth. The inbox belongs
//! to whoever fills it: nothing here is written, moved or deleted. A file is touched only when it has *settled*: size and
//! modification time equal in two looks at least `inbox.settle` apart; and what was read counts only if its hash is the
//! same before and after reading, so that a file still being written is never taken for a whole one.

mod folder;

pub(crate) use folder::is_ignored;
pub use folder::{Folder, Look};

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::account::AccountId;
use crate::matching::Side;

/// Greater files are not read: no statement is, and memory is bounded by what is.
pub const MAX_BYTES: u64 = 1 << 30;

/// A file that lies in the inbox, as its folder describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Path below the inbox, with `/`: what rows, reports and logs call it.
    pub name: String,
    /// Which side it tells of.
    pub side: Side,
    /// The account whose folder it lies in.
    pub account: Option<AccountId>,
    path: PathBuf,
    mark: Mark,
}

/// What must stay the same for a file to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    /// Since the epoch, as the file system says; only ever compared for equality.
    modified: Duration,
}

/// A file's content, read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

/// Why the inbox as a whole cannot be read. A replica that cannot read it does not campaign.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// A folder could not be listed.
    #[error("cannot read the inbox: {}: {source}", path.display())]
    Unreadable {
        /// Which folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An inbox without a folder for statements is more likely a volume that is not mounted than a day without any.
    #[error("the inbox {} has no folder {missing}/: is it mounted? (an empty folder is fine)", path.display())]
    Bare {
        /// The inbox.
        path: PathBuf,
        /// Which folder is not there.
        missing: &'static str,
    },
}

/// Why one file could not be read. The next look tries again; the other files go on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It changed between the look and the end of reading: it settles anew.
    #[error("{name} changed while it was read; it is taken when it has settled")]
    Changed {
        /// Its name.
        name: String,
    },
    /// It is larger than anything that is read.
    #[error("{name} has {size} bytes; files over {MAX_BYTES} are not read")]
    TooLarge {
        /// Its name.
        name: String,
        /// How large it is.
        size: u64,
    },
    /// The system said no.
    #[error("cannot read {name}: {source}")]
    Io {
        /// Its name.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What was passed over in a folder because it is no file of its own. (Names that say that they are unfinished or hidden
/// are passed over too, and are nothing to tell.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Symbolic links: somebody else's file, or a loop.
    pub links: usize,
    /// Named pipes, sockets and devices.
    pub special: usize,
    /// Folders below the inbox's own that cannot be listed, or lie too deep: one of them must not keep the rest from
    /// being read.
    pub folders: usize,
}

// === impl PassedOver ===

impl PassedOver {
    /// Nothing.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Counts a name that is neither a file nor a folder.
    pub(crate) fn count(&mut self, kind: std::fs::FileType) {
        if kind.is_symlink() { self.links += 1 } else { self.special += 1 }
    }
}

/// `1 link and 2 special files`.
impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = [
            (self.links, "link", "links"),
            (self.special, "special file", "special files"),
            (self.folders, "folder that cannot be read", "folders that cannot be read"),
        ];
        let mut gap = "";
        for (count, one, more) in counted.into_iter().filter(|(count, ..)| *count > 0) {
            write!(f, "{gap}{count} {}", if count == 1 { one } else { more })?;
            gap = " and ";
        }
        Ok(())
    }
}

// === impl Entry ===

impl Entry {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.mark.size
    }

    /// Changes whenever the file does: what a memory of files already read is keyed by, beside the name.
    pub fn fingerprint(&self) -> (u64, u64, u64, Duration) {
        (self.mark.device, self.mark.inode, self.mark.size, self.mark.modified)
    }
}
