//! `counterfoil pause` and `counterfoil resume`: the planner rests, or works again. The leader stays.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, out, session, words};
use crate::db::connect::Purpose;
use crate::db::requests;

/// Let the planner rest: no new date is begun until counterfoil resume.
///
/// The leader stays, and goes on with dates that it has begun; one that counterfoil run asks for is begun all the same. Dates that come due meanwhile are run after resume, as far
/// back as schedule.catch_up goes.
#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    word: Word,
}

/// Let the planner work again after counterfoil pause.
#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    word: Word,
}

#[derive(Debug, Args)]
struct Word {
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: Option<String>,
    /// Who says so
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "unknown", value_parser = words::actor)]
    actor: String,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Pause {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        self.word.say(true)
    }
}

impl Resume {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        self.word.say(false)
    }
}

impl Word {
    fn say(&self, paused: bool) -> anyhow::Result<Exit> {
        let changed = session::ask(self.config.as_deref(), Purpose::Ask, async |settings, session| {
            let lease = &settings.lease.name;
            let was = requests::pause(session, lease).await?.is_some_and(|pause| pause.paused);
            if was != paused {
                requests::set_pause(session, lease, paused, self.reason.as_deref(), &self.actor).await?;
            }
            Ok(was != paused)
        })?;
        if self.json {
            out::json(&serde_json::json!({ "paused": paused, "changed": changed }))?;
            return Ok(Exit::Done);
        }
        out::line(match (paused, changed) {
            (true, true) => "The planner rests until counterfoil resume.",
            (true, false) => "The planner rests already.",
            (false, true) => "The planner works again.",
            (false, false) => "The planner was not paused.",
        })?;
        Ok(Exit::Done)
    }
}
