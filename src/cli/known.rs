//! What is not there, told with what is: an account that nobody knows, a date that was not closed.

use std::collections::BTreeSet;

use anyhow::anyhow;
use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use crate::db::days;
use crate::settings::Settings;

/// How many names or dates are told.
const TOLD: usize = 6;

/// An error unless the account is in the settings, or had a day. It names those that are, the most alike first.
pub(super) async fn account(session: &mut PgConnection, settings: &Settings, wanted: &str) -> anyhow::Result<()> {
    let mut known: BTreeSet<String> = days::accounts(session, &settings.lease.name).await?.into_iter().collect();
    known.extend(settings.accounts().iter().map(|account| account.id.to_string()));
    if known.contains(wanted) {
        return Ok(());
    }
    Err(anyhow!("there is no account {wanted:?}: {}", nearest(wanted, known)))
}

/// An error unless the account, or any account, was closed on that date. It names the dates that were, newest first.
pub(super) async fn closed(
    session: &mut PgConnection,
    settings: &Settings,
    account: Option<&str>,
    date: NaiveDate,
) -> anyhow::Result<()> {
    let lease = &settings.lease.name;
    if days::is_closed(&mut *session, lease, account, date).await? {
        return Ok(());
    }
    let who = account.unwrap_or("no account");
    let was = if account.is_some() { "was not closed" } else { "was closed" };
    let dates = days::closed_dates(session, lease, account, i64::try_from(TOLD)?).await?;
    let dates = if dates.is_empty() { "none yet".to_owned() } else { list(&dates) };
    Err(anyhow!("{who} {was} on {date}: counterfoil runs --date {date} says why. Closed dates, newest first: {dates}"))
}

fn list(names: &[impl ToString]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn nearest(wanted: &str, known: BTreeSet<String>) -> String {
    let count = known.len();
    let mut known: Vec<String> = known.into_iter().collect();
    known.sort_by_key(|name| distance(&wanted.to_lowercase(), &name.to_lowercase()));
    known.truncate(TOLD);
    match (count, known.len()) {
        (0, _) => "none is declared, and none had a day yet".to_owned(),
        (all, told) if all > told => format!("the most alike of {all} are {}", list(&known)),
        _ => format!("known are {}", list(&known)),
    }
}

/// How many letters must be put in, left out or changed to make one name the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (to, other) in b.iter().enumerate() {
            let changed = before + usize::from(letter != *other);
            before = row[to + 1];
            row[to + 1] = changed.min(before + 1).min(row[to] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_names_come_first_and_only_some_of_many() {
        let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(nearest("Operatin", known(&["europe", "operating"])), "known are operating, europe");
        assert_eq!(nearest("x", BTreeSet::new()), "none is declared, and none had a day yet");
        let many: Vec<String> = (0..50).map(|at| format!("account-{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(nearest("acount-17", known(&many)).starts_with("the most alike of 50 are account-17, "));
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "abc")), (3, 3, 0));
    }
}
