//! `counterfoil resign`: ask the leader to hand over.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::{Exit, UsageError, out, session, words};
use crate::db::connect::Purpose;
use crate::db::leadership::{self, TermRow};
use crate::election::FencingToken;

/// Ask the leader to stop its work in order and let another replica lead.
///
/// The request names the term, so that one which comes late cannot fell the next leader. The one that resigned lets
/// others go first for one lease.ttl; where there are no others, it leads again after that.
#[derive(Debug, Args)]
pub(super) struct Resign {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The term that is meant [default: the installed one]
    #[arg(long, value_name = "N")]
    token: Option<u64>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: Option<String>,
    /// Wait until another term is installed
    #[arg(long)]
    wait: bool,
    /// How long to wait
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = humantime::parse_duration, requires = "wait")]
    timeout: Duration,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How often `--wait` looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Resign {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        session::ask(self.config.as_deref(), Purpose::Ask, async |settings, session| {
            let lease = &settings.lease.name;
            let Some(term) = leadership::installed(session, lease).await? else {
                bail!("nobody has led yet: there is nobody to resign");
            };
            let wanted = match self.token {
                None => u64::try_from(term.token)?,
                Some(token) => token,
            };
            if i64::try_from(wanted).ok() != Some(term.token) {
                bail!("term {wanted} is not the installed one, which is {}: nothing was asked", term.token);
            }
            let Some(token) = FencingToken::new(wanted) else {
                return Err(UsageError(format!("{wanted} is no token")).into());
            };
            leadership::ask_to_resign(session, lease, token, &settings.node.id, self.reason.as_deref()).await?;
            if !self.wait {
                self.say(&term, None)?;
                return Ok(Exit::Done);
            }
            let waited = tokio::time::timeout(self.timeout, async {
                loop {
                    match leadership::installed(session, lease).await? {
                        Some(next) if next.token > term.token => return Ok::<_, anyhow::Error>(next),
                        _ => tokio::time::sleep(LOOK_EVERY).await,
                    }
                }
            })
            .await;
            let Ok(next) = waited else {
                bail!("term {} was asked to resign, and no other was installed within {:?}", term.token, self.timeout);
            };
            self.say(&term, Some(&next?))?;
            Ok(Exit::Done)
        })
    }

    fn say(&self, term: &TermRow, next: Option<&TermRow>) -> anyhow::Result<()> {
        if self.json {
            return out::json(&serde_json::json!({ "asked": term, "installed": next }));
        }
        out::line(format!("Term {} of {} was asked to resign.", term.token, term.node))?;
        match next {
            Some(next) => out::line(format!("Term {} of {} is installed.", next.token, next.node)),
            None => Ok(()),
        }
    }
}
