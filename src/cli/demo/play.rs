//! The scenario, scene by scene, and the verdict.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use comfy_table::{Table, presets};
use rustix::process::Signal;

use super::observer::{InstalledTerm, Observer, Step};
use super::stage::{Replica, Stage, TTL};
use super::{Exit, example, out, told};
use crate::http;
use crate::supervisor::blocking;

/// How long anything may take before the demo calls it off. Generous: the verdict is about what happened, not how fast.
const LIMIT: Duration = Duration::from_secs(20);

/// What the demo claims, and whether it held.
#[derive(Default)]
struct Verdict {
    claims: Vec<(bool, String)>,
}

/// Plays, judges, and ends what was started.
pub(super) async fn play(keep: bool) -> anyhow::Result<Exit> {
    say("Counterfoil: a day's reconciliation, and a leader frozen in the middle of it.");
    say("");
    let mut stage = Stage::raise().await?;
    let mut verdict = Verdict::default();
    let ended = scenes(&mut stage, &mut verdict).await;
    if let Err(error) = &ended {
        say("");
        say(&format!("The scenario broke off: {}", told(error)));
        for replica in stage.replicas() {
            say(&format!("--- what {} said last", replica.name));
            say(&replica.last_words());
        }
    } else {
        verdict.show();
    }
    if keep {
        say("");
        say("Left running; Ctrl-C ends it:");
        for address in stage.addresses() {
            say(&format!("  {address}"));
        }
        tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    }
    stage.strike().await;
    ended?;
    Ok(if verdict.held() { Exit::Done } else { Exit::Failed })
}

async fn scenes(stage: &mut Stage, verdict: &mut Verdict) -> anyhow::Result<()> {
    let date = example::business_date();
    let mut observer = Observer::connect(stage.database()).await?;
    scene("Three replicas, one leader");
    stage.start_replicas()?;
    let first = observer.term_after(0, LIMIT).await?;
    say(&format!(
        "  {} won the lease and installed token {}; the others sleep until it would end.",
        first.node, first.token
    ));

    scene(&format!("The business day {date} is asked for"));
    // Inside the match step's transaction, its work done and its commit not sent, whoever comes to it waits.
    let mut before_commit = stage.database().hold("match").await?;
    let mut after_close = stage.database().hold("close:committed").await?;
    let day = date.to_string();
    say(&format!("  $ counterfoil run --date {day}"));
    indented(&stage.operator(&["run", "--date", &day]).await?);
    before_commit.reached(LIMIT).await?.context("no transaction came to the match step's commit")?;

    scene(&format!("{} is frozen inside the match step's transaction (SIGSTOP)", first.node));
    let frozen_at = observer.now().await?;
    let frozen = stage.replica(&first.node)?;
    frozen.signal(Signal::STOP)?;
    before_commit.release().await?;
    let second = observer.term_after(first.token, LIMIT).await?;
    say(&format!(
        "  Its lease ended. {} won it, ended the frozen sessions that held the lock, and installed token {}",
        second.node, second.token
    ));
    say(&format!("  {} after the freeze (the lease's ttl is {}).", since(frozen_at, second.installed_at), span(TTL)));
    after_close.reached(LIMIT).await?.context("the new leader closed no account")?;
    say("  It went on at the first unfinished step, and has closed an account.");

    scene(&format!("{} is woken (SIGCONT)", first.node));
    stage.replica(&first.node)?.signal(Signal::CONT)?;
    let refusal = observer.refusal(&first.node, first.token, LIMIT).await?;
    say("  It believes that it leads, and goes on with its transaction. Postgres says:");
    indented(&refusal);
    verdict.claim(
        refusal.contains("TF001")
            && refusal.contains(&first.token.to_string())
            && refusal.contains(&second.token.to_string()),
        format!(
            "{} was refused by Postgres: own token {}, installed token {}, SQLSTATE TF001",
            first.node, first.token, second.token
        ),
    );
    let role = follows(stage.replica(&first.node)?).await?;
    verdict.claim(role == "follower", format!("{} is a {role} now", first.node));

    scene(&format!("{} is asked to end between two steps (SIGTERM)", second.node));
    let asked_at = observer.now().await?;
    stage.replica(&second.node)?.signal(Signal::TERM)?;
    after_close.release().await?;
    let third = observer.term_after(second.token, LIMIT).await?;
    let handed_over = since(asked_at, third.installed_at);
    say(&format!("  It stopped its work, released the lease, and {} installed token {}", third.node, third.token));
    say(&format!("  {handed_over} after the signal."));
    let run = observer.run_ended(date, LIMIT).await?;
    verdict
        .claim(stage.replica(&second.node)?.has_ended(), format!("{} ended; hand-over in {handed_over}", second.node));
    verdict.claim(run.status == "complete", format!("the run of {date} is {}", run.status));

    scene("Who led, and why not any more");
    say("  $ counterfoil history");
    indented(&stage.operator(&["history"]).await?);
    scene("Each step, and the token that committed it");
    let steps = observer.steps().await?;
    show_steps(&steps);
    judge_steps(&steps, &first, &second, &third, verdict);

    scene("What finance reads in the morning");
    indented(&published(&stage.folder().join("outbox").join(&day).join("summary.txt")).await?);

    scene("The same files, reconciled in memory");
    let inbox = |side: &str| stage.folder().join("inbox").join(side).display().to_string();
    say(&format!("  $ counterfoil reconcile --config … --bank …/inbox/bank --book …/inbox/book --date {day}"));
    let arguments =
        ["reconcile", "--bank", &inbox("bank"), "--book", &inbox("book"), "--date", &day, "--format", "json"];
    let json: serde_json::Value = serde_json::from_str(&stage.operator(&arguments).await?)?;
    let in_memory = json.get("digest").and_then(serde_json::Value::as_str).unwrap_or_default();
    let by_three = run.digest.unwrap_or_default();
    say(&format!("  in memory            {in_memory}"));
    say(&format!("  by three leaders     {by_three}"));
    verdict.claim(!by_three.is_empty() && in_memory == by_three, "the digests are equal".to_owned());
    Ok(())
}

/// Waits until a file is published: that comes after the commit that completes the run.
async fn published(file: &Path) -> anyhow::Result<String> {
    let look = async {
        loop {
            if let Ok(text) = std::fs::read_to_string(file) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    tokio::time::timeout(LIMIT, look).await.with_context(|| format!("{} was not published", file.display()))
}

/// Waits until a woken replica says itself that it follows; what it says at last, if it does not.
async fn follows(replica: &Replica) -> anyhow::Result<String> {
    let mut role = String::new();
    for _ in 0..200 {
        let listen: SocketAddr = replica.http.parse().context("an address of ours")?;
        let answer = blocking(move || http::ask(listen, "/status", Duration::from_secs(1))).await;
        let status = answer.ok().and_then(|answer| serde_json::from_str::<serde_json::Value>(&answer.body).ok());
        role = status.and_then(|status| Some(status.get("role")?.as_str()?.to_owned())).unwrap_or(role);
        if role == "follower" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(role)
}

fn show_steps(steps: &[Step]) {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["token", "step", "account", "key", "committed"]);
    for step in steps {
        let at = step.committed_at.format("%H:%M:%S%.3f").to_string();
        let key = if step.key.len() > 24 { format!("{}…", &step.key[..23]) } else { step.key.clone() };
        table.add_row([step.token.to_string(), step.name.clone(), step.account.clone(), key, at]);
    }
    indented(&table.to_string());
}

fn judge_steps(
    steps: &[Step],
    first: &InstalledTerm,
    second: &InstalledTerm,
    third: &InstalledTerm,
    verdict: &mut Verdict,
) {
    let by = |term: &InstalledTerm| steps.iter().filter(|step| step.token == term.token).count();
    verdict.claim(
        by(first) > 0 && by(second) > 0 && by(third) > 0,
        format!(
            "three terms shared the work: {} steps by token {}, {} by {}, {} by {}",
            by(first),
            first.token,
            by(second),
            second.token,
            by(third),
            third.token
        ),
    );
    let in_order = steps.windows(2).all(|pair| pair[0].token <= pair[1].token);
    let none_late = |term: &InstalledTerm, next: &InstalledTerm| {
        steps.iter().filter(|step| step.token == term.token).all(|step| step.committed_at < next.installed_at)
    };
    verdict.claim(
        in_order && none_late(first, second) && none_late(second, third),
        "tokens never go back, and no term committed anything after the next was installed".to_owned(),
    );
}

// === impl Verdict ===

impl Verdict {
    fn claim(&mut self, held: bool, what: String) {
        self.claims.push((held, what));
    }

    fn held(&self) -> bool {
        !self.claims.is_empty() && self.claims.iter().all(|(held, _)| *held)
    }

    fn show(&self) {
        scene("Verdict");
        for (held, what) in &self.claims {
            say(&format!("  {} {what}", if *held { "held  " } else { "FAILED" }));
        }
    }
}

fn scene(title: &str) {
    say("");
    say(&format!("== {title}"));
}

fn indented(text: &str) {
    for line in text.trim_end().lines() {
        say(&format!("  | {line}"));
    }
}

/// The demo speaks on stdout: it is what one runs it for. What it comes to is its exit code: a line that cannot be written
/// does not end the play, which would leave nothing judged.
fn say(line: &str) {
    let _ = out::line(line);
}

fn since(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    span((to - from).to_std().unwrap_or_default())
}

fn span(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{}.{:02} s", time.as_secs(), time.subsec_millis() / 10)
    }
}
