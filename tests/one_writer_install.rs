//! Promise 1, one writer: the install, which makes a leader of a candidate.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

use std::time::Duration;

use counterfoil::db::connect::Connector;
use counterfoil::election::term::{Installation, InstalledTerm, TermStore};
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::scratch::postgres::{self, Database};

const BOUND: Duration = Duration::from_millis(500);

fn lease() -> LeaseName {
    LeaseName::new("reconciliation").expect("a name")
}

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("in range")
}

fn owner(name: &str) -> Owner {
    Owner::from_stored(format!("{name}:1"))
}

fn store(database: &Database) -> TermStore {
    TermStore::new(Connector::new(&database.url(), "test").expect("a url"), Duration::from_secs(5))
}

fn standing(installed: Option<InstalledTerm>) -> (u64, String) {
    let installed = installed.expect("a term is installed");
    (installed.token.get(), installed.owner.as_str().to_owned())
}

#[tokio::test]
async fn a_higher_token_is_installed_and_a_lower_or_equal_one_refused() {
    let database = postgres::migrated().await.expect("a database");
    let mut store = store(&database);
    assert_eq!(store.installed(&lease()).await.expect("an answer"), None);
    let first = store.install(&lease(), token(7), &owner("a"), BOUND).await.expect("an answer");
    assert!(matches!(first, Installation::Installed(term) if term.token() == token(7)));
    for (number, who) in [(7, "b"), (6, "b"), (6, "a")] {
        let refused = store.install(&lease(), token(number), &owner(who), BOUND).await.expect("an answer");
        assert!(
            matches!(refused, Installation::Refused { installed } if installed.token == token(7)),
            "{number} of {who}"
        );
    }
    let next = store.install(&lease(), token(8), &owner("b"), BOUND).await.expect("an answer");
    assert!(matches!(next, Installation::Installed(_)));
    assert_eq!(standing(store.installed(&lease()).await.expect("an answer")), (8, "b:1".to_owned()));
}
