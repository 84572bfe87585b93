//! The leader's work, from the bell to the outbox.
//!
//! A pass takes in what has arrived, answers what was asked, records what is due, and brings every unfinished run as far
//! as it goes: dates oldest first, accounts side by side. It keeps nothing between passes but what spares it reading
//! again; a new leader's first pass does the same work and finds most of it done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::postgres::PgConnection;

use super::account_day::{self, Came, Moment};
use super::attempts::{Hand, Tools, Tried};
use super::by_query::{self, ByQuery};
use super::desk::Desk;
use super::failing::Failing;
use super::ingest::Arrived;
use super::join::side_by_side;
use super::left::{self, LeftFiles};
use super::whose::Whose;
use super::{Reins, RunError, book, ingest, publish, summary};
use crate::account::Account;
use crate::clock::Clock;
use crate::db::book_query::BookQuery;
use crate::db::connect::Connector;
use crate::db::days::DayState;
use crate::db::requests::RunRequest;
use crate::db::runs::RunRow;
use crate::db::{DayKey, accounts, days, files, leadership, left as left_rows, requests, runs};
use crate::inbox::{Entry, Folder, InboxError, Look, PassedOver, ReadError};
use crate::instant::Boot;
use crate::matching::Side;
use crate::outbox::Outbox;
use crate::report::digest::{self, Digest};
use crate::report::left::WhyLeft;
use crate::schedule::bell::Bell;
use crate::supervisor::blocking;
use crate::telemetry::{CronTick, RunOutcome, ScheduledDate, WorkPass, WriteOperation, event, metrics};

/// How often the leader looks whether somebody asked for something.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How many settle times a day that is past its deadline waits for a file that does not settle.
const SETTLES_WAITED: u32 = 6;
/// How many of the newest runs a new leader publishes again, for what its predecessor left undone.
const PUBLISH_AGAIN: i64 = 5;

/// Does the work of one term. Made when leadership is gained, dropped when it ends.
pub struct Runner {
    desk: Arc<Desk>,
    tools: Tools,
    hand: Hand,
    inbox: Arc<Mutex<Folder>>,
    outbox: Arc<Outbox>,
    /// Books that come by query.
    by_query: Option<ByQuery>,
    /// Files whose content is known: what spares hashing the inbox each minute.
    known: BTreeMap<String, Fingerprint>,
    /// Files of which nothing was taken.
    left: LeftFiles,
    /// When the files of the inbox that have not settled were first seen.
    settling: Vec<Boot>,
    /// What the last look passed over, and was said of it.
    passed_over: PassedOver,
    lines: summary::Lines,
    /// Whose the accounts are.
    whose: Whose,
    /// Dates of which something may not be in the outbox.
    unpublished: BTreeSet<NaiveDate>,
    /// Passes that fail, one after the other.
    failing: Option<Failing>,
    fresh: bool,
}

/// What of a file in the inbox changes whenever it does.
pub(super) type Fingerprint = (u64, u64, u64, Duration);

/// What a runner works with beside its term.
#[derive(Clone)]
pub struct Bench {
    /// What the work goes by.
    pub desk: Arc<Desk>,
    /// The inbox. It outlives terms, and so its looks do.
    pub inbox: Arc<Mutex<Folder>>,
    /// The outbox.
    pub outbox: Arc<Outbox>,
    /// The books, where they come by query.
    pub books: Option<Arc<BookQuery>>,
    /// The way to Postgres.
    pub connector: Connector,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}

/// What became of a file.
enum Took {
    /// It was judged, now or before.
    Whole,
    /// Books that were taken before and of which something was replaced since: not taken again, for this reason.
    Replaced(String),
    /// It could not be judged.
    GivenUp,
}

/// What a pass came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    /// Files of the inbox have not settled yet: ask again when they may have.
    pub settling: bool,
    /// Runs that are not complete.
    pub unfinished: usize,
    /// Dates that this pass recorded.
    pub planned: u64,
    /// The planner rests.
    pub paused: bool,
    /// Dates of which something could not be published.
    pub unpublished: usize,
}

// === impl Runner ===

impl Runner {
    /// The work of the term that `reins` hold.
    pub fn new(bench: Bench, reins: Reins) -> Self {
        let Bench { desk, inbox, outbox, books, connector, clock } = bench;
        let whose = Whose::of(&desk);
        let tools =
            Tools { reins, connector, clock, attempts: desk.step_attempts, backoff: desk.backoff, pulse: desk.pulse };
        let hand = tools.hand();
        Self {
            desk,
            tools,
            hand,
            inbox,
            outbox,
            by_query: books.map(ByQuery::new),
            known: BTreeMap::new(),
            left: LeftFiles::default(),
            settling: Vec::new(),
            passed_over: PassedOver::default(),
            lines: summary::Lines::default(),
            whose,
            unpublished: BTreeSet::new(),
            failing: None,
            fresh: true,
        }
    }

    /// Works until the term ends, woken by the bell, by what is asked for, and by files that settle. Returns why it ended.
    pub async fn lead(&mut self, bell: &mut Bell) -> RunError {
        // Did the bell ring for this pass? The first one is the gain of leadership's.
        let mut rang = false;
        loop {
            let pass = self.pass().await;
            if std::mem::take(&mut rang) {
                metrics::cron_tick(match &pass {
                    Ok(pass) if pass.paused => CronTick::SkippedPaused,
                    Ok(_) => CronTick::Woke,
                    Err(_) => CronTick::Failed,
                });
            }
            let (settling, failed) = match pass {
                Ok(Pass { settling, unpublished: 0, .. }) => (settling, None),
                Ok(pass) => {
                    (pass.settling, Some(format!("reports of {} dates could not be published", pass.unpublished)))
                }
                Err(error) if error.ends_the_term() => return error,
                Err(error) => {
                    if self.failing.is_none() {
                        tracing::warn!(event = event::PASS_ENDED_EARLY, error = %error, "this pass ended early; the next ones try again");
                    }
                    (false, Some(error.to_string()))
                }
            };
            let again = match failed {
                None => {
                    self.succeeded();
                    Duration::MAX
                }
                Some(why) => match self.failed(&why).await {
                    Ok(again) => again,
                    Err(ended) => return ended,
                },
            };
            match self.rest(bell, settling, again).await {
                Ok(woken) => rang = woken,
                Err(ended) => return ended,
            }
        }
    }

    fn succeeded(&mut self) {
        metrics::pass(WorkPass::Succeeded);
        metrics::passed_at(self.tools.clock.wall());
        if let Some(failing) = self.failing.take() {
            tracing::info!(event = event::PASSES_AGAIN, passes = failing.passes(), "the work gets on again");
        }
    }

    /// Counts a pass that failed, and says when the next one shall begin. Where it has gone on for long, another replica
    /// shall try: then the term ends.
    async fn failed(&mut self, why: &str) -> Result<Duration, RunError> {
        metrics::pass(WorkPass::Failed);
        let now = self.tools.clock.now();
        let failing = self.failing.get_or_insert_with(|| Failing::since(now));
        failing.count();
        if failing.handed_on.is_none() {
            let term = Arc::clone(&self.tools.reins.term);
            let before = async |session: &mut PgConnection| {
                leadership::handed_on_before(session, term.lease(), term.token()).await
            };
            // Where it cannot be asked, it is asked again after the next pass.
            failing.handed_on = self.hand.read(before).await.ok().and_then(|terms| u32::try_from(terms).ok());
        }
        if failing.is_enough(now, self.desk.stall_limit) {
            let passes = failing.passes();
            (self.tools.reins.failing)(format!("{passes} passes failed in a row, the last one so: {why}"));
            // The keeper ends the term; if it has one reason more to keep it, the next pass is a minute away.
            self.tools.pause(Duration::from_mins(1)).await?;
        }
        self.tools.check()?;
        Ok(failing.pause())
    }

    /// Waits for the next reason to work, at most for `again`, and says whether it was the bell.
    async fn rest(&mut self, bell: &mut Bell, settling: bool, again: Duration) -> Result<bool, RunError> {
        let settled = if settling { self.inbox().settle() } else { Duration::MAX };
        let settled = tokio::time::sleep(settled.min(again).min(Duration::from_hours(1)));
        tokio::pin!(settled);
        loop {
            tokio::select! {
                () = self.tools.reins.stop.cancelled() => return Err(RunError::Stopped),
                _ = bell.rung() => return Ok(true),
                () = &mut settled => return Ok(false),
                () = tokio::time::sleep(ASKED_EVERY) => {}
            }
            self.tools.check()?;
            // A server that cannot be asked now is asked by the next pass.
            let lease = self.hand.lease();
            let asked = self.hand.read(async |session| {
                Ok((requests::unanswered(&mut *session, &lease).await?, accounts::stamp(session).await?))
            });
            if asked.await.is_ok_and(|(asked, stamp)| !asked.is_empty() || self.whose.changed(stamp)) {
                return Ok(false);
            }
        }
    }

    /// Everything that can be done now.
    pub async fn pass(&mut self) -> Result<Pass, RunError> {
        if let Some(desk) = self.whose.look(&mut self.hand).await? {
            self.desk = desk;
        }
        let mut pass = Pass { settling: self.take_in().await?, ..Pass::default() };
        self.answer().await?;
        let lease = self.hand.lease();
        let paused = self.hand.read(async |session| requests::pause(session, &lease).await).await?;
        pass.paused = paused.is_some_and(|pause| pause.paused);
        if !pass.paused {
            pass.planned = self.plan().await?;
        }
        if std::mem::take(&mut self.fresh) {
            let newest = self.hand.read(async |session| runs::newest(session, &lease, PUBLISH_AGAIN).await).await?;
            self.unpublished.extend(newest.into_iter().map(|run| run.business_date));
        }
        let unfinished = self.hand.read(async |session| runs::unfinished(session, &lease).await).await?;
        self.ask_for_books(&unfinished).await?;
        for run in &unfinished {
            if self.run(run).await? != "complete" {
                pass.unfinished += 1;
            }
        }
        for date in std::mem::take(&mut self.unpublished) {
            self.tools.check()?;
            // Said once, and not again with each pass that fails.
            if !publish::date(&mut self.hand, &self.outbox, date, self.failing.is_none()).await? {
                self.unpublished.insert(date);
            }
        }
        pass.unpublished = self.unpublished.len();
        // Last, when nothing of the pass is at work any more.
        self.whose.give_up(&mut self.hand).await?;
        Ok(pass)
    }

    // === Taking in ===

    /// Takes in what has settled in the inbox: statements first, then books, each in order of names. Says whether
    /// something has not settled.
    async fn take_in(&mut self) -> Result<bool, RunError> {
        let (inbox, now) = (Arc::clone(&self.inbox), self.tools.clock.now());
        let look: Result<Look, InboxError> = blocking(move || lock(&inbox).look(now)).await;
        let look = look?;
        self.known.retain(|name, _| look.settled.iter().any(|entry| entry.name == *name));
        self.left.keep(&look.settled);
        for entry in look.settled {
            if self.known.get(&entry.name) == Some(&entry.fingerprint()) {
                continue;
            }
            self.tools.check()?;
            match Self::read_file(&entry).await {
                Ok(file) => {
                    match self.take(entry.side, &file).await? {
                        Took::Replaced(told) => {
                            if self.left.left(&entry, WhyLeft::TakenBefore, told) {
                                let sha256 = ingest::hex(&file.sha256);
                                tracing::warn!(event = event::FILE_LEFT, why = WhyLeft::TakenBefore.name(), %sha256, "a book file was taken before, and is not taken again");
                            }
                        }
                        Took::Whole | Took::GivenUp => self.left.taken(&entry),
                    }
                    self.known.insert(entry.name.clone(), entry.fingerprint());
                }
                Err(error) => {
                    let Some((why, told)) = left::why(&error) else {
                        tracing::debug!(error = %error, "a file changed while it was read");
                        continue;
                    };
                    if self.left.left(&entry, why, told.clone()) {
                        tracing::warn!(
                            event = event::FILE_LEFT,
                            why = why.name(),
                            error = told,
                            "a file of the inbox is left where it lies"
                        );
                    }
                }
            }
        }
        self.tell_of_left(&look.settling).await?;
        // Files that wait for an account, once after settings changed.
        let (judged_by, lease) = (self.desk.judged_by.clone(), self.hand.lease());
        loop {
            let waiting =
                self.hand.read(async |session| files::to_judge_again(session, &lease, &judged_by).await).await?;
            let Some(waiting) = waiting else { break };
            let side = if waiting.side == Side::Bank.name() { Side::Bank } else { Side::Book };
            let file = Arrived {
                name: waiting.name,
                pinned: waiting.pinned.and_then(|id| crate::account::AccountId::new(&id).ok()),
                sha256: waiting.sha256.try_into().unwrap_or_default(),
                bytes: Arc::new(waiting.bytes),
                present: false,
            };
            if matches!(self.take(side, &file).await?, Took::GivenUp) {
                break;
            }
        }
        self.settling = look.settling.iter().map(|(_, first)| *first).collect();
        if look.passed_over != self.passed_over {
            self.passed_over = look.passed_over;
            let PassedOver { links, special, folders } = look.passed_over;
            tracing::warn!(
                event = event::FILES_PASSED_OVER,
                links,
                special,
                folders,
                "something in the inbox is not read: links, special files, or folders that cannot be"
            );
        }
        Ok(!self.settling.is_empty())
    }

    /// Writes down which files were left, where that has changed: so that whoever looks sees them, whichever replica leads.
    async fn tell_of_left(&mut self, settling: &[(String, Boot)]) -> Result<(), RunError> {
        if self.left.stored().is_none() {
            let lease = self.hand.lease();
            self.left.store(self.hand.read(async |session| left_rows::all(session, &lease).await).await?);
        }
        let files = self.left.all(settling.iter().map(|(name, _)| name.as_str()));
        if self.left.stored() != Some(&files) {
            self.hand.record(WriteOperation::Other, async |sql| left_rows::replace(sql, &files).await).await?;
        }
        self.left.store(files);
        Ok(())
    }

    async fn read_file(entry: &Entry) -> Result<Arrived, ReadError> {
        let entry = entry.clone();
        blocking(move || {
            let content = Folder::read(&entry)?;
            Ok(Arrived {
                name: entry.name,
                pinned: entry.account,
                bytes: Arc::new(content.bytes),
                sha256: content.sha256,
                present: true,
            })
        })
        .await
    }

    /// Takes in one file. One that had to be given up keeps no other from being taken.
    async fn take(&mut self, side: Side, file: &Arrived) -> Result<Took, RunError> {
        let tried = match side {
            Side::Bank => ingest::run(&mut self.hand, &self.desk, file).await?,
            Side::Book => book::run(&mut self.hand, &self.desk, file).await?,
        };
        if side == Side::Book && tried.is_none() && file.present {
            let replaced = book::replaced(&mut self.hand, &self.desk, file).await?;
            return Ok(replaced.map_or(Took::Whole, Took::Replaced));
        }
        if let Some(Tried::GivenUp(why)) = &tried {
            tracing::error!(event = event::FILE_GIVEN_UP, sha256 = %ingest::hex(&file.sha256), error = %why, "a file was given up");
        }
        Ok(if matches!(tried, Some(Tried::GivenUp(_))) { Took::GivenUp } else { Took::Whole })
    }

    /// Takes in the books by query, where a date that is due lacks them.
    async fn ask_for_books(&mut self, unfinished: &[RunRow]) -> Result<(), RunError> {
        if self.by_query.is_none() {
            return Ok(());
        }
        let mut lacking = Vec::new();
        let lease = self.hand.lease();
        for date in unfinished.iter().map(|run| run.business_date) {
            let desk = Arc::clone(&self.desk);
            let lacks = async |session: &mut PgConnection| {
                let states = days::states(&mut *session, &lease, date).await?;
                let open = |account: &Account| {
                    let state = states.iter().find(|state| state.account == account.id.as_str());
                    !desk.elsewhere.contains_key(&account.id) && state.is_none_or(|state| state.status == "waiting")
                };
                for account in desk.registry.accounts().iter().filter(|account| takes_part(account, date)) {
                    if open(account) && by_query::lacks(&mut *session, account, date).await? {
                        return Ok(true);
                    }
                }
                Ok(false)
            };
            if self.hand.read(lacks).await? {
                lacking.push(date);
            }
        }
        let Some(by_query) = &mut self.by_query else { return Ok(()) };
        for file in by_query.ask(&self.hand, lacking).await? {
            // Balances without the entries that they sum up would complete a day that lacks them.
            let taken = !matches!(self.take(Side::Book, &file).await?, Took::GivenUp);
            let known = self.hand.read(async |session| files::known(session, &lease, &file.sha256).await).await?;
            if !taken || known.is_none_or(|known| known.status == "refused") {
                break;
            }
        }
        Ok(())
    }

    // === What is due ===

    async fn plan(&mut self) -> Result<u64, RunError> {
        let lease = self.hand.lease();
        let ledger = self.hand.read(async |session| runs::ledger(session, &lease).await).await?;
        let plan = self.desk.timetable.plan(&ledger, self.desk.opening(), self.tools.clock.wall());
        if plan.due.is_empty() && plan.skipped.is_empty() {
            return Ok(0);
        }
        let recorded = self.hand.record(WriteOperation::Schedule, async |sql| runs::record(sql, &plan).await).await?;
        for _ in 0..recorded.due {
            metrics::scheduled_date(ScheduledDate::Planned);
        }
        for _ in 0..recorded.skipped {
            metrics::scheduled_date(ScheduledDate::Skipped);
        }
        for skip in &plan.skipped {
            tracing::warn!(event = event::DATE_SKIPPED, business_date = %skip.occurrence.business_date, reason = %skip.reason, "business date skipped");
        }
        if recorded.already > 0 {
            tracing::debug!(dates = recorded.already, "already recorded");
        }
        for occurrence in &plan.due {
            tracing::info!(event = event::DATE_PLANNED, business_date = %occurrence.business_date, due = %occurrence.due, deadline = %occurrence.deadline, "business date due");
        }
        Ok(recorded.due + recorded.skipped)
    }

    /// Answers each request once: what it asks for and the answer are one transaction.
    async fn answer(&mut self) -> Result<(), RunError> {
        let lease = self.hand.lease();
        for request in self.hand.read(async |session| requests::unanswered(session, &lease).await).await? {
            let judged = self.judge(&request).await?;
            let desk = Arc::clone(&self.desk);
            let (accepted, message) = match &judged {
                Ok(message) => (true, message.clone()),
                Err(message) => (false, message.clone()),
            };
            let now = self.tools.clock.wall();
            self.hand
                .record(WriteOperation::Schedule, async |sql| {
                    if accepted && let Ok(occurrence) = desk.timetable.asked(request.business_date, desk.opening(), now)
                    {
                        runs::record_asked(&mut *sql, &occurrence).await?;
                        if let Some(account) = request.skip_account.as_ref().and_then(|id| find(&desk, id)) {
                            let day = DayKey::first(&account.id, request.business_date);
                            let reason = request.reason.as_deref().unwrap_or("skipped by hand");
                            let reason = format!("{reason} ({})", request.actor);
                            days::set(&mut *sql, &day, account.currency, "skipped", &reason).await?;
                        }
                    }
                    requests::answer(sql, request.id, accepted, &message).await
                })
                .await?;
            if let Some(by_query) = self.by_query.as_mut().filter(|_| accepted) {
                by_query.soon();
            }
            tracing::info!(event = event::REQUEST_ANSWERED, request = %request.id, business_date = %request.business_date, actor = %request.actor, accepted, answer = %message, "request answered");
        }
        Ok(())
    }

    async fn judge(&mut self, request: &RunRequest) -> Result<Result<String, String>, RunError> {
        let (date, lease) = (request.business_date, self.hand.lease());
        if request.reopen {
            return Ok(Err("a closed day cannot be opened again by this version".to_owned()));
        }
        let now = self.tools.clock.wall();
        if let Err(refusal) = self.desk.timetable.asked(date, self.desk.opening(), now) {
            return Ok(Err(refusal.to_string()));
        }
        if let Some(id) = &request.skip_account {
            let Some(account) = find(&self.desk, id) else {
                return Ok(Err(format!("{id} is none of the accounts")));
            };
            let account = account.id.clone();
            if let Some(why) = self.desk.elsewhere.get(&account) {
                return Ok(Err(format!("{account}: {why}")));
            }
            let states = self.hand.read(async |session| days::states(session, &lease, date).await).await?;
            if states.iter().any(|state| state.account == account.as_str() && state.status == "closed") {
                return Ok(Err(format!("{account} is closed for {date}")));
            }
            return Ok(Ok(format!("{account} is skipped for {date}; its lines enter its next day")));
        }
        let known = self.hand.read(async |session| runs::find(session, &lease, date).await).await?;
        Ok(match known {
            Some(run) if run.status == "complete" => {
                // Asking for what is done is no failure: nothing is begun, and whoever asked may go on.
                Ok(format!("{date} is complete: `counterfoil report --date {date}` shows it"))
            }
            Some(run) if run.status == "skipped" => Ok(format!("{date} was skipped, and is run after all")),
            Some(_) => Ok(format!("{date} is in the ledger already: what is not closed yet is tried again")),
            None => Ok(format!("{date} is run now")),
        })
    }

    // === A run ===

    /// Brings a run as far as it goes, and says how it stands.
    async fn run(&mut self, run: &RunRow) -> Result<&'static str, RunError> {
        let (date, lease) = (run.business_date, self.hand.lease());
        let now = self.tools.clock.wall();
        let states = self.hand.read(async |session| days::states(session, &lease, date).await).await?;
        let asked = self.hand.read(async |session| requests::last_accepted(session, &lease, date).await).await?;
        let later = self.hand.read(async |session| runs::unfinished(session, &lease).await).await?;
        let done = self.hand.read(async |session| days::done_elsewhere(session, &lease, date).await).await?;
        // A failed day is tried again when somebody asks, and before a date that was recorded since.
        let again =
            later.iter().filter(|other| other.business_date > date).map(|other| other.recorded_at).max().max(asked);
        let moment = Moment { now, again, postponed: self.postponed(now, run) };
        let desk = Arc::clone(&self.desk);
        let accounts: Vec<&Account> =
            desk.registry.accounts().iter().filter(|account| takes_part(account, date)).collect();
        // One that moved here has no second such day.
        let accounts: Vec<&Account> =
            accounts.into_iter().filter(|account| !done.iter().any(|done| done == account.id.as_str())).collect();
        let (own, elsewhere): (Vec<&Account>, Vec<&Account>) =
            accounts.iter().partition(|account| !desk.elsewhere.contains_key(&account.id));
        let state = |account: &Account| states.iter().find(|state| state.account == account.id.as_str());
        let days = own.iter().map(|account| {
            let (desk, tools, state) = (Arc::clone(&desk), self.tools.clone(), state(account));
            async move { account_day::advance(&desk, &tools, account, run, state, moment).await }
        });
        // What this book did of an account before it moved counts; what it did not do waits for it to come back.
        let is_open = |account: &&&Account| state(account).is_none_or(|state| state.status == "waiting");
        let mut came = vec![Came::Waiting; elsewhere.iter().filter(is_open).count()];
        for outcome in side_by_side(desk.parallel, days).await {
            came.push(outcome?);
        }
        if came.contains(&Came::Postponed) {
            // Soon more is known: no summary is made of what stands now.
            return Ok("due");
        }
        let count = |of: Came| came.iter().filter(|came| **came == of).count();
        let status = if count(Came::Failed) > 0 {
            "failed"
        } else if count(Came::Waiting) == 0 {
            "complete"
        } else if now > run.deadline {
            "incomplete"
        } else {
            "due"
        };
        self.settle(run, &accounts, status).await?;
        Ok(status)
    }

    /// Is a file still to come that may belong to the run's day? A ledger's balance may settle a moment before the entries
    /// that it sums up, and a new leader has looked only once. One that does not settle keeps the day open until the
    /// deadline, and for a short while after it.
    fn postponed(&self, now: DateTime<Utc>, run: &RunRow) -> bool {
        let while_after = self.inbox().settle() * SETTLES_WAITED;
        let (boot, before_deadline) = (self.tools.clock.now(), now <= run.deadline);
        self.settling.iter().any(|first| before_deadline || boot.since(*first) <= while_after)
    }

    /// Records how a run stands, and its summary, where either changed.
    async fn settle(&mut self, run: &RunRow, accounts: &[&Account], status: &'static str) -> Result<(), RunError> {
        let (date, lease) = (run.business_date, self.hand.lease());
        let mut states = self.hand.read(async |session| days::states(session, &lease, date).await).await?;
        self.whose.say(accounts, date, &mut states);
        // Where every account was skipped there is nothing that a digest could be of.
        let digest = if status == "complete" { run_digest(&states).map(|digest| digest.to_string()) } else { None };
        let files_left = self.left.stored().unwrap_or_default().to_vec();
        let summary = self.lines.summary(&mut self.hand, date, accounts, &states, files_left).await?;
        let changed = self.hand.read(async |session| summary::differs(session, &lease, date, &summary).await).await?;
        if run.status != status || run.digest != digest || changed {
            self.hand
                .record(WriteOperation::Schedule, async |sql| {
                    summary::store(&mut *sql, date, &summary).await?;
                    runs::set_status(sql, date, status, digest.as_deref()).await
                })
                .await?;
            self.unpublished.insert(date);
        }
        if status == "complete" {
            self.lines.forget(date);
        }
        if run.status != status {
            match status {
                "complete" => metrics::run(RunOutcome::Complete),
                "incomplete" => metrics::run(RunOutcome::Incomplete),
                "failed" => metrics::run(RunOutcome::Failed),
                _ => {}
            }
            let waiting = states.iter().filter(|state| state.status == "waiting");
            let waiting: Vec<&str> = waiting.map(|state| state.account.as_str()).collect();
            if status == "incomplete" {
                tracing::warn!(event = event::RUN_INCOMPLETE, business_date = %date, deadline = %run.deadline, accounts = waiting.join(", "), "the deadline has passed, and accounts still wait");
            } else {
                tracing::info!(event = event::RUN_STATUS, business_date = %date, status, digest, "run");
            }
        }
        Ok(())
    }

    fn inbox(&self) -> std::sync::MutexGuard<'_, Folder> {
        lock(&self.inbox)
    }
}

/// The looks of a folder are plain values: a panic of another holder leaves whole ones.
fn lock(inbox: &Mutex<Folder>) -> std::sync::MutexGuard<'_, Folder> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find<'a>(desk: &'a Desk, id: &str) -> Option<&'a Account> {
    desk.registry.accounts().iter().find(|account| account.id.as_str() == id)
}

/// An account whose opening lies on or after the date has no such day.
fn takes_part(account: &Account, date: NaiveDate) -> bool {
    account.opening.as_ref().is_none_or(|opening| opening.date < date)
}

/// None where no account is closed.
fn run_digest(states: &[DayState]) -> Option<Digest> {
    let closed = states.iter().filter_map(|state| {
        let digest = state.digest.as_deref()?;
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digest.get(at * 2..at * 2 + 2)?, 16).ok()?;
        }
        Some((state.account.as_str(), Digest::from_bytes(bytes)))
    });
    let closed: Vec<_> = closed.collect();
    (!closed.is_empty()).then(|| digest::of_run(closed))
}
