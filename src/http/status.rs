//! What a replica knows of itself, at one moment.

use std::time::Duration;

use chrono::NaiveDate;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::election::reason::{Ineligible, Role};
use crate::election::{FencingToken, LeaseName, Owner};
use crate::instant::Boot;
use crate::telemetry::Local;

/// Where the answers come from. Asked at each request, from any thread: it must neither wait nor call a server.
pub trait StatusSource: Send + Sync + 'static {
    /// How things stand now. The trust that is left is worked out against the clock at this very call.
    fn status(&self) -> Status;
}

/// How a replica stands, at one moment. Its JSON is that of `/status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// When this was worked out.
    pub at: Boot,
    /// Setting `node.id`.
    pub node: String,
    /// Setting `lease.name`.
    pub lease: LeaseName,
    /// What the elector believes. [`Status::role`] is what is true.
    pub believed: Role,
    /// How long this replica may still act as leader; zero when it does not lead, or when trust has ended.
    pub trust_remaining: Duration,
    /// The installed term, as Postgres has it, whoever leads.
    pub term: Option<(FencingToken, Owner)>,
    /// Why this replica does not campaign, if so.
    pub ineligible: Option<Ineligible>,
    /// The step at work on this replica.
    pub run: Option<RunStatus>,
    /// What is wrong with the schema: too old, too new, not there, or not yet looked at.
    pub schema_fault: Option<String>,
    /// Why the latest call of Redis failed.
    pub redis_fault: Option<String>,
    /// Why Postgres does not serve: the latest call failed, or it takes no writes.
    pub postgres_fault: Option<String>,
    /// Why the inbox cannot be read.
    pub inbox_fault: Option<String>,
    /// Whom it waits for, where the lease lives longer than it should. It is ready all the same: the holder may lead.
    pub waits: Option<String>,
    /// What stands in the way of any term, until a person removes it.
    pub obstacle: Option<String>,
    /// Every account of its settings is another book's: it could lead, and do nothing.
    pub no_account: Option<String>,
}

/// The step at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunStatus {
    /// The business date; none for a step that is no date's, such as taking a file in.
    pub business_date: Option<NaiveDate>,
    /// The step's name.
    pub step: &'static str,
    /// Its key: an account's id, or a file's hash.
    pub key: String,
    /// Steps of the run that are committed.
    pub steps_done: u64,
    /// Steps that the run is known to have.
    pub steps_total: u64,
}

/// One condition of readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What is wrong, if anything is.
    pub fault: Option<String>,
}

// === impl Status ===

impl Status {
    /// What this replica is, at this moment. A leader whose trust has ended leads nobody, whatever the elector, stuck
    /// or frozen, still believes.
    pub fn role(&self) -> Role {
        match self.believed {
            Role::Leader if self.trust_remaining.is_zero() => Role::Follower,
            role => role,
        }
    }

    /// Why this process is beyond help, if it is: its elector has not noticed that its trust ended.
    pub fn dead(&self) -> Option<&'static str> {
        (self.role() != self.believed).then_some("the elector still believes that it leads, past the end of its trust")
    }

    /// The conditions of readiness. Settings were read, or there would be no process to ask.
    pub fn checks(&self) -> [Check; 7] {
        [
            Check { name: "settings", fault: None },
            Check { name: "schema", fault: self.schema_fault.clone() },
            Check { name: "redis", fault: self.redis_fault.clone() },
            Check { name: "postgres", fault: self.postgres_fault.clone() },
            Check { name: "inbox", fault: self.inbox_fault.clone() },
            Check { name: "election", fault: self.obstacle.clone() },
            Check { name: "accounts", fault: self.no_account.clone() },
        ]
    }

    /// The part of it that `/metrics` tells.
    pub fn local(&self) -> Local {
        let leads = self.role() == Role::Leader;
        Local {
            at: self.at,
            trust_remaining: if leads { self.trust_remaining } else { Duration::ZERO },
            ineligible: self.ineligible,
            redis: self.redis_fault.is_none(),
            postgres: self.postgres_fault.is_none(),
            inbox: self.inbox_fault.is_none(),
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Dependencies {
            redis: bool,
            postgres: bool,
        }
        let leads = self.role() == Role::Leader;
        let trust = leads.then_some(self.trust_remaining.as_secs_f64());
        let dependencies = Dependencies { redis: self.redis_fault.is_none(), postgres: self.postgres_fault.is_none() };
        let mut json = serializer.serialize_struct("Status", 9)?;
        json.serialize_field("node", &self.node)?;
        json.serialize_field("version", env!("CARGO_PKG_VERSION"))?;
        json.serialize_field("lease", &self.lease)?;
        json.serialize_field("role", &self.role())?;
        json.serialize_field("token", &self.term.as_ref().map(|(token, _)| token))?;
        json.serialize_field("owner", &self.term.as_ref().map(|(_, owner)| owner))?;
        json.serialize_field("trust_remaining_seconds", &trust)?;
        json.serialize_field("run", &self.run)?;
        json.serialize_field("dependencies", &dependencies)?;
        json.end()
    }
}
