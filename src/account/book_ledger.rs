//! The company's side of an account: which book lines are new, known, or changed.
//!
//! A book line is (source, account, id). The same content again is known; other content is a new revision, and the old
//! one leaves the population (`domain.md` §4). Absence means nothing.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::book::BookLine;
use crate::statement::text::single_spaced;

/// The content of a book line, hashed: equal where nothing that matters differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 16]);

/// What of an account's book lines is known: id → content of its latest revision.
#[derive(Debug, Clone, Default)]
pub struct BookLedger {
    known: BTreeMap<String, (u32, ContentHash)>,
}

/// What a book line is to what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Not seen before. Revision 0.
    New,
    /// Seen, with the same content.
    Known,
    /// Seen with other content: a new revision.
    Changed {
        /// Its number, from 1.
        revision: u32,
    },
}

// === impl BookLedger ===

impl BookLedger {
    /// What a line is. Changes nothing.
    pub fn look(&self, id: &str, content: ContentHash) -> Entry {
        match self.known.get(id) {
            None => Entry::New,
            Some((_, known)) if *known == content => Entry::Known,
            Some((revision, _)) => Entry::Changed { revision: revision + 1 },
        }
    }

    /// Takes a line in, and says what it was.
    pub fn take(&mut self, id: &str, content: ContentHash) -> Entry {
        let entry = self.look(id, content);
        match entry {
            Entry::New => self.replay(id, 0, content),
            Entry::Known => {}
            Entry::Changed { revision } => self.replay(id, revision, content),
        }
        entry
    }

    /// Folds in a revision that was taken in earlier.
    pub fn replay(&mut self, id: &str, revision: u32, content: ContentHash) {
        self.known.insert(id.to_owned(), (revision, content));
    }
}

// === impl ContentHash ===

impl ContentHash {
    /// Of a line: date, amount, references, counterparty, text, group, what it voids. Not its place in a file.
    pub fn of(line: &BookLine) -> Self {
        let mut hasher = Sha256::new();
        let mut field = |value: &[u8]| {
            hasher.update((value.len() as u64).to_be_bytes());
            hasher.update(value);
        };
        field(line.date.to_string().as_bytes());
        field(&line.amount.minor().to_be_bytes());
        field(line.amount.currency().code().as_bytes());
        let mut references: Vec<_> = line.references.iter().collect();
        references.sort();
        field(&(references.len() as u64).to_be_bytes());
        for reference in references {
            field(reference.kind().name().as_bytes());
            field(reference.value().as_bytes());
        }
        for text in [line.counterparty.as_deref().unwrap_or(""), &line.description] {
            field(single_spaced(text).as_bytes());
        }
        field(line.group.as_deref().unwrap_or("").as_bytes());
        field(line.reverses.as_deref().unwrap_or("").as_bytes());
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize()[..16]);
        Self(hash)
    }

    /// The bytes, for storing.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// From the bytes, as stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}
