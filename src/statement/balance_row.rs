//! Balances written as rows between movements: `Saldo Anterior`, `S A L D O`, `SALDO DO DIA`.
//!
//! They are told by their text, by a closed list and strictly: a movement taken for a balance would be lost, so whatever
//! is not exactly one of these texts is a movement. (`RESGATE SALDO` moves money.)

use super::text::folded;

/// What a balance row states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BalanceRow {
    /// The balance of the account: an anchor between the lines.
    Ledger,
    /// Another balance (available, with investments, blocked), which the movements do not add up to.
    Other,
}

/// Folded, and without the numbers of a date or account at the end.
const LEDGER: [&str; 20] = [
    "S A L D O",
    "S A L D O A N T E R I O R",
    "S A L D O ANTERIOR",
    "SALDO",
    "SALDO ANT",
    "SALDO ANTERIOR",
    "SALDO ANTERIOR EM",
    "SALDO ATUAL",
    "SALDO C C",
    "SALDO CONTA CORRENTE",
    "SALDO DIA",
    "SALDO DO DIA",
    "SALDO EM",
    "SALDO EM C C",
    "SALDO EM CONTA",
    "SALDO EM CONTA CORRENTE",
    "SALDO FINAL",
    "SALDO FINAL DO DIA",
    "SALDO INICIAL",
    "SALDO PARCIAL",
];

const OTHER: [&str; 7] = [
    "SALDO BLOQUEADO",
    "SALDO DISPONIVEL",
    "SALDO DISPONIVEL DIA",
    "SALDO TOTAL DISPON DIA",
    "SALDO TOTAL DISPONIVEL",
    "SALDO TOTAL DISPONIVEL DIA",
    "SDO CTA APL AUTOMATICAS",
];

/// Is a row with this text a balance?
pub(super) fn of(description: &str) -> Option<BalanceRow> {
    // Nearly every row is decided by its first letters, without folding it.
    let mut letters = description.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let mut begins = [0; 3];
    begins.fill_with(|| letters.next().unwrap_or(b' ').to_ascii_uppercase());
    if !(begins == *b"SDO"
        || (begins == *b"SAL" && letters.next().is_some_and(|byte| byte.eq_ignore_ascii_case(&b'D'))))
    {
        return None;
    }
    let text = folded(description);
    let text = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    if LEDGER.contains(&text) { Some(BalanceRow::Ledger) } else { OTHER.contains(&text).then_some(BalanceRow::Other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_row_is_known_by_its_whole_text() {
        for text in ["Saldo Anterior", "SALDO DO DIA", "saldo  dia", "S A L D O", "Saldo em 30/09/2026", "SALDO ANT."] {
            assert_eq!(of(text), Some(BalanceRow::Ledger), "{text}");
        }
        assert_eq!(of("SALDO TOTAL DISPONÍVEL DIA"), Some(BalanceRow::Other));
        assert_eq!(of("SDO CTA/APL AUTOMATICAS"), Some(BalanceRow::Other));
    }

    #[test]
    fn a_movement_that_speaks_of_a_balance_is_a_movement() {
        for text in [
            "RESGATE SALDO",
            "SALDO DEVEDOR PAGO",
            "PAGTO SALDO DO DIA",
            "SALDO ANTERIOR TRANSFERIDO",
            "SALARIO",
            "SAQUE",
            "1 SALDO",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
