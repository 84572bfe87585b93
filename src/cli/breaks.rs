//! `counterfoil breaks`: what is open, why, and since when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::NaiveDate;
use clap::Args;
use serde::Serialize;
use sqlx::postgres::PgConnection;

use super::{Exit, UsageError, date, known, out, session};
use crate::account::AccountId;
use crate::db::connect::Purpose;
use crate::db::days;
use crate::db::outcome::{self, BreakRow};
use crate::matching::{BreakClass, Nearest, OpenLine, Origin, Side};
use crate::money::{Currency, Money};
use crate::reference::Reference;
use crate::report::Lines;
use crate::report::open::{self, OpenBreak};
use crate::report::overview::reference;
use crate::settings::Settings;

/// What is open, why, and since when.
///
/// Of each account its last closed day, or the date that is named. Oldest first, then the largest amounts. As wide as the
/// terminal, or COLUMNS; --json has all there is to a line.
#[derive(Debug, Args)]
pub(super) struct Breaks {
    /// As of this business date [default: each account's last closed day]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date::read)]
    date: Option<NaiveDate>,
    /// One account alone
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// One class alone, such as MISSING_IN_BANK
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON, one array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct BreakJson<'a> {
    account: &'a str,
    business_date: NaiveDate,
    class: &'a str,
    side: &'a str,
    line: &'a str,
    date: Option<NaiveDate>,
    amount: String,
    currency: &'a str,
    reference: Option<&'a str>,
    references: &'a [Reference],
    counterparty: Option<&'a str>,
    description: Option<&'a str>,
    origin: Option<&'a Origin>,
    age_business_days: i32,
    bucket: &'a str,
    first_seen: NaiveDate,
    late: bool,
    nearest: Option<&'a Nearest>,
}

/// An open row, and the line that it is of.
struct Open {
    row: BreakRow,
    side: Side,
    amount: Money,
    of: Option<OpenLine>,
}

// === impl Breaks ===

impl Breaks {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let class = self.class.as_ref().map(|class| class.to_uppercase().replace('-', "_"));
        if let Some(class) = &class {
            let names = BreakClass::ALL.map(BreakClass::name);
            if !names.contains(&class.as_str()) {
                let known = names.join(", ");
                return Err(UsageError(format!("{class} is no class of breaks: they are {known}")).into());
            }
        }
        let (found, closed) = session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
            if let Some(account) = &self.account {
                known::account(session, settings, account).await?;
            }
            if let Some(date) = self.date {
                known::closed(session, settings, self.account.as_deref(), date).await?;
            }
            let mut rows = outcome::open(session, &settings.lease.name, self.account.as_deref(), self.date).await?;
            rows.retain(|row| class.as_ref().is_none_or(|class| row.class == *class));
            let closed = days::closed_dates(session, &settings.lease.name, self.account.as_deref(), 1).await?;
            Ok((with_lines(session, settings, rows).await?, !closed.is_empty()))
        })?;
        if self.json {
            out::json(&found.iter().map(BreakJson::of).collect::<Vec<_>>())?;
        } else if found.is_empty() {
            let of = class.map_or_else(String::new, |class| format!(" of class {class}"));
            out::line(if closed {
                format!("Nothing{of} is open.")
            } else {
                "No day was closed yet: counterfoil runs says what is waited for.".to_owned()
            })?;
        } else {
            let rows: Vec<_> = found.iter().map(Open::shown).collect();
            out::text(&open::text(&rows, out::width()))?;
        }
        Ok(Exit::Done)
    }
}

/// Finds the line of each row: in the database or, if it was open at the account's opening, in the settings.
async fn with_lines(session: &mut PgConnection, settings: &Settings, rows: Vec<BreakRow>) -> anyhow::Result<Vec<Open>> {
    let mut lines: BTreeMap<String, Lines> = BTreeMap::new();
    for name in rows.iter().map(|row| row.account.as_str()).collect::<BTreeSet<_>>() {
        let of: Vec<&BreakRow> = rows.iter().filter(|row| row.account == name).collect();
        let account = AccountId::new(name)?;
        let mut found = outcome::lines_of(session, &account, &of).await?;
        let declared = settings.accounts().iter().find(|account| account.id.as_str() == name);
        for (side, item) in
            declared.and_then(|account| account.opening.as_ref()).iter().flat_map(|opening| &opening.items)
        {
            let side = if *side == Side::Bank { &mut found.bank } else { &mut found.book };
            side.entry(item.id.clone()).or_insert_with(|| item.clone());
        }
        lines.insert(name.to_owned(), found);
    }
    let open = |row: BreakRow| {
        let side = if row.side == Side::Bank.name() { Side::Bank } else { Side::Book };
        let lines = lines.get(&row.account);
        let lines = lines.map(|lines| if side == Side::Bank { &lines.bank } else { &lines.book });
        let of = lines.and_then(|lines| lines.get(&row.line)).cloned();
        Ok(Open { side, amount: Money::new(row.minor, Currency::new(&row.currency)?), of, row })
    };
    rows.into_iter().map(open).collect()
}

// === impl Open ===

impl Open {
    fn shown(&self) -> OpenBreak<'_> {
        OpenBreak {
            account: &self.row.account,
            business_date: self.row.business_date,
            side: self.side,
            id: &self.row.line,
            of: self.of.as_ref(),
            amount: self.amount,
            age: self.row.age,
            class: &self.row.class,
            nearest: self.row.nearest.as_ref().map(|nearest| nearest.0.why.as_str()),
            late: self.row.late,
        }
    }
}

// === impl BreakJson ===

impl<'a> BreakJson<'a> {
    fn of(open: &'a Open) -> Self {
        let (row, of) = (&open.row, open.of.as_ref());
        Self {
            account: &row.account,
            business_date: row.business_date,
            class: &row.class,
            side: &row.side,
            line: &row.line,
            date: of.map(|line| line.date),
            amount: open.amount.to_string(),
            currency: &row.currency,
            reference: of.and_then(reference),
            references: of.map_or(&[], |line| &line.references),
            counterparty: of.and_then(|line| line.counterparty.as_ref()?.name.as_deref()),
            description: of.map(|line| line.description.as_str()),
            origin: of.map(|line| &line.origin),
            age_business_days: row.age,
            bucket: &row.bucket,
            first_seen: row.first_seen,
            late: row.late,
            nearest: row.nearest.as_ref().map(|nearest| &nearest.0),
        }
    }
}
