//! Who may write: a lease in Redis decides who *tries*, a term in Postgres decides who *leads*.
//!
//! The words that everybody shares are here: the lease's name, the fencing token, the owner of one candidacy.

pub mod address;
pub mod elector;
pub mod keeper;
pub mod lease;
pub mod reason;
pub mod self_test;
pub mod share;
pub mod tenure;
pub mod term;
pub mod timing;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a lease: what is led. Part of Redis keys and of rows, so letters, digits, `-`, `_`, `.` only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LeaseName(String);

/// A name that cannot be a lease's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no lease name: letters, digits, '-', '_' and '.' only, 1 to 64 of them")]
pub struct BadLeaseName(pub String);

/// A fencing token: one for each term, strictly rising. Below 2⁵³, since Lua counts in doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FencingToken(u64);

/// One candidacy of one process: `<node id>:<uuid>`. Never used again after its candidacy or term has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

/// Which Redis a lease was won in: an id that Redis keeps beside the lease, made by chance when there is none. A Redis that
/// lost its data is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(uuid::Uuid);

// === impl LeaseName ===

impl LeaseName {
    /// Checks the form.
    pub fn new(name: &str) -> Result<Self, BadLeaseName> {
        let fits = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if fits { Ok(Self(name.to_owned())) } else { Err(BadLeaseName(name.to_owned())) }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LeaseName {
    type Error = BadLeaseName;
    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(&name)
    }
}

impl From<LeaseName> for String {
    fn from(name: LeaseName) -> Self {
        name.0
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl FencingToken ===

impl FencingToken {
    /// The greatest token: the largest integer that a double holds exactly.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The furthest that one term may be from the one before: `install_term` refuses more. A counter that is further
    /// ahead is not this database's.
    pub const LEAP: u64 = 1_000_000;

    /// A token, if it is in 1 … [`Self::MAX`].
    pub fn new(token: u64) -> Option<Self> {
        (1..=Self::MAX.0).contains(&token).then_some(Self(token))
    }

    /// As a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Owner ===

impl Owner {
    /// The owner of a new candidacy of a node.
    pub fn new(node: &str, nonce: uuid::Uuid) -> Self {
        Self(format!("{node}:{nonce}"))
    }

    /// One that was stored.
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The node id before the nonce.
    pub fn node(&self) -> &str {
        self.0.rsplit_once(':').map_or(self.0.as_str(), |(node, _)| node)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl StoreId ===

impl StoreId {
    /// Of this value.
    pub const fn new(id: uuid::Uuid) -> Self {
        Self(id)
    }

    /// As Redis keeps it; nothing for what no worker wrote.
    pub fn from_stored(text: &str) -> Option<Self> {
        uuid::Uuid::parse_str(text).ok().map(Self)
    }

    /// As Postgres keeps it.
    pub fn get(self) -> uuid::Uuid {
        self.0
    }

    /// Its first eight digits: enough to tell two of them apart, for people.
    pub fn short(self) -> String {
        self.0.simple().to_string().chars().take(8).collect()
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}
