//! `counterfoil breaks`: what is open, why, and since when.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::{Exit, UsageError, date, out, session};
use crate::db::connect::Purpose;
use crate::db::outcome::{self, BreakRow};
use crate::matching::Nearest;
use crate::money::{Currency, Money};

/// What is open, why, and since when.
///
/// Of each account its last closed day, or the date that is named. Oldest first, then the largest amounts.
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
    amount: String,
    currency: &'a str,
    age_business_days: i32,
    bucket: &'a str,
    first_seen: NaiveDate,
    late: bool,
    nearest: Option<&'a Nearest>,
}

impl Breaks {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let class = self.class.as_ref().map(|class| class.to_uppercase().replace('-', "_"));
        let mut found = session::ask(self.config.as_deref(), Purpose::Read, async |_, session| {
            Ok(outcome::open(session, self.account.as_deref(), self.date).await?)
        })?;
        if let Some(class) = &class {
            let known = serde_json::from_value::<crate::matching::BreakClass>(class.as_str().into());
            known.map_err(|_| UsageError(format!("{class} is no class of breaks, such as MISSING_IN_BANK")))?;
            found.retain(|row| row.class == *class);
        }
        if self.json {
            let shown: Vec<BreakJson<'_>> = found.iter().map(BreakJson::of).collect();
            out::json(&shown)?;
        } else if found.is_empty() {
            out::line("Nothing is open.")?;
        } else {
            out::line(table(&found))?;
        }
        Ok(Exit::Done)
    }
}

impl<'a> BreakJson<'a> {
    fn of(row: &'a BreakRow) -> Self {
        Self {
            account: &row.account,
            business_date: row.business_date,
            class: &row.class,
            side: &row.side,
            line: &row.line,
            amount: amount(row),
            currency: &row.currency,
            age_business_days: row.age,
            bucket: &row.bucket,
            first_seen: row.first_seen,
            late: row.late,
            nearest: row.nearest.as_ref().map(|nearest| &nearest.0),
        }
    }
}

/// As a decimal; as bare minor units if the currency were none that we know.
fn amount(row: &BreakRow) -> String {
    Currency::new(&row.currency)
        .map_or_else(|_| row.minor.to_string(), |currency| Money::new(row.minor, currency).to_string())
}

fn table(rows: &[BreakRow]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["account", "class", "side", "amount", "", "age", "line", "nearest"]);
    for row in rows {
        table.add_row([
            row.account.clone(),
            row.class.clone(),
            row.side.clone(),
            amount(row),
            row.currency.clone(),
            row.age.to_string(),
            row.line.clone(),
            row.nearest.as_ref().map_or_else(String::new, |nearest| nearest.0.why.clone()),
        ]);
    }
    for at in [3, 5] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
