//! The closed lists of the election: the same words in metrics, logs and history.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a replica is to its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Another replica leads, or nobody does. Nothing may be written.
    #[default]
    Follower,
    /// The lease is won, the term is not installed. Nothing may be written.
    Candidate,
    /// The lease is won and the term installed: its work may run until trust ends.
    Leader,
}

/// Why a candidacy or a term ended, or how it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The lease was won: a candidate.
    Won,
    /// The term was installed: a leader.
    Installed,
    /// Redis answered that the lease is somebody else's, or nobody's.
    Lost,
    /// Trust ran out before a renewal succeeded.
    Expired,
    /// Postgres holds a newer term.
    Fenced,
    /// An open step showed no progress for too long.
    Stalled,
    /// The machine slept.
    Suspended,
    /// Its passes failed, one after the other: another replica may do better.
    Failing,
    /// A node that waits for this lease leads at least two books fewer: it was left to it.
    SharedOut,
    /// It can no longer do a leader's work: its inbox cannot be read, or Postgres takes no writes.
    Ineligible,
    /// An operator asked for it.
    Resigned,
    /// The process was told to end.
    Shutdown,
    /// Postgres refused to install the term.
    InstallRefused,
    /// The term could not be installed in time.
    InstallFailed,
}

/// Why a replica does not campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ineligible {
    /// Postgres does not answer.
    PostgresUnreachable,
    /// Postgres is in recovery: a standby.
    PostgresInRecovery,
    /// Postgres takes no writes.
    PostgresReadOnly,
    /// The schema is one that this version does not know.
    SchemaUnknown,
    /// The self-test failed: this replica could bypass the fence, or could not evict a predecessor.
    PrivilegesUnsound,
    /// The inbox cannot be read.
    InboxUnreadable,
    /// No term can be installed until a person removes what is in the way: a counter that leaps,
    /// a key that holds something else, a lock held by a session out of reach.
    Obstructed,
    /// The leader is alive, and won its lease in another Redis than this replica's.
    OtherRedis,
    /// It resigned a moment ago, and lets others go first.
    Resigned,
    /// `lease.eligible = false`.
    NeverLeads,
    /// Work of an older term of this process is still alive.
    OldWorkAlive,
}

/// How an attempt to win the lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElectionOutcome {
    /// Won.
    Won,
    /// Another holds it: normal.
    Held,
    /// No answer, or an error.
    Error,
}

/// How an attempt to renew the lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenewalOutcome {
    /// Renewed.
    Ok,
    /// The lease is no longer ours.
    Lost,
    /// No answer in time; it may have been renewed.
    Timeout,
    /// An error: connection, READONLY, ACL.
    Error,
}

// === impl Role ===

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Follower, Self::Candidate, Self::Leader];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Candidate => "candidate",
            Self::Leader => "leader",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Reason ===

impl Reason {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Won,
        Self::Installed,
        Self::Lost,
        Self::Expired,
        Self::Fenced,
        Self::Stalled,
        Self::Suspended,
        Self::Failing,
        Self::SharedOut,
        Self::Ineligible,
        Self::Resigned,
        Self::Shutdown,
        Self::InstallRefused,
        Self::InstallFailed,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::Installed => "installed",
            Self::Lost => "lost",
            Self::Expired => "expired",
            Self::Fenced => "fenced",
            Self::Stalled => "stalled",
            Self::Suspended => "suspended",
            Self::Failing => "failing",
            Self::SharedOut => "shared_out",
            Self::Ineligible => "ineligible",
            Self::Resigned => "resigned",
            Self::Shutdown => "shutdown",
            Self::InstallRefused => "install_refused",
            Self::InstallFailed => "install_failed",
        }
    }

    /// The lease is not this replica's to keep any more, or it must not keep it: nothing renews it while the work stops.
    pub fn is_involuntary(self) -> bool {
        matches!(self, Self::Lost | Self::Expired | Self::Fenced | Self::Stalled | Self::Suspended)
    }

    /// What took the term may take the next one too: the replica waits longer each time before it campaigns again.
    pub fn is_setback(self) -> bool {
        self.is_involuntary() || matches!(self, Self::Failing | Self::Ineligible)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Ineligible ===

impl Ineligible {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::PostgresUnreachable,
        Self::PostgresInRecovery,
        Self::PostgresReadOnly,
        Self::SchemaUnknown,
        Self::PrivilegesUnsound,
        Self::InboxUnreadable,
        Self::Obstructed,
        Self::OtherRedis,
        Self::Resigned,
        Self::NeverLeads,
        Self::OldWorkAlive,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PostgresUnreachable => "postgres_unreachable",
            Self::PostgresInRecovery => "postgres_in_recovery",
            Self::PostgresReadOnly => "postgres_read_only",
            Self::SchemaUnknown => "schema_unknown",
            Self::PrivilegesUnsound => "privileges_unsound",
            Self::InboxUnreadable => "inbox_unreadable",
            Self::Obstructed => "obstructed",
            Self::OtherRedis => "other_redis",
            Self::Resigned => "resigned",
            Self::NeverLeads => "never_leads",
            Self::OldWorkAlive => "old_work_alive",
        }
    }

    /// It lasts until a person does something, and Postgres is there to hear of it.
    pub fn is_standing(self) -> bool {
        matches!(self, Self::PrivilegesUnsound | Self::InboxUnreadable | Self::Obstructed | Self::OtherRedis)
    }

    /// The sentence for it.
    pub fn explain(self) -> &'static str {
        match self {
            Self::PostgresUnreachable => "Postgres does not answer",
            Self::PostgresInRecovery => "Postgres is a standby; connect to the primary",
            Self::PostgresReadOnly => "Postgres takes no writes (default_transaction_read_only is on)",
            Self::SchemaUnknown => "the database has a schema that this version does not know; see counterfoil migrate",
            Self::PrivilegesUnsound => "this login could bypass the fence, or could not evict; see counterfoil check",
            Self::InboxUnreadable => "the inbox cannot be read",
            Self::Obstructed => "no term can be installed; see counterfoil check",
            Self::OtherRedis => "its Redis is another one than the leader's; correct redis.url",
            Self::Resigned => "it resigned, and lets others go first",
            Self::NeverLeads => "lease.eligible is false: this replica never leads",
            Self::OldWorkAlive => "work of an older term is still alive in this process",
        }
    }
}

impl fmt::Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl ElectionOutcome ===

impl ElectionOutcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Won, Self::Held, Self::Error];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::Held => "held",
            Self::Error => "error",
        }
    }
}

// === impl RenewalOutcome ===

impl RenewalOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Lost, Self::Timeout, Self::Error];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Lost => "lost",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }
}
