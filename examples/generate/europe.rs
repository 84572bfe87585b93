//! The account in euro: SEPA, told by camt.053.

#![expect(clippy::inconsistent_digit_grouping, reason = "cents stand apart: 1_845_00 is 1,845.00")]

use super::chance::Chance;
use super::day::{Account, BankLine, BookLine, OpenItem, friday, november, numbered};

/// What moves.
pub(crate) fn account() -> Account {
    let mut chance = Chance::new(978);
    let (mut bank, mut book) = (Vec::new(), Vec::new());
    for number in 0..24_u32 {
        let (cents, name) = (chance.cents(60_00, 5_500_00), chance.name());
        let id = format!("INV-2026-{:05}", 3_120 + number);
        bank.push(BankLine {
            counterparty: name.to_owned(),
            ..BankLine::on(friday(), cents, "RCDT", format!("Invoice {id}")).reference(&id)
        });
        book.push(BookLine::on(friday(), cents, name, "Customer payment").reference("end_to_end", id));
    }
    for number in 0..12_i64 {
        let (cents, name) = (chance.cents(110_00, 8_000_00), chance.name());
        let reference = iso_11649(&format!("2026{:06}", 553_000 + number * 37));
        bank.push(BankLine {
            counterparty: name.to_owned(),
            creditor_reference: reference.clone(),
            ..BankLine::on(friday(), cents, "RCDT", "").reference("NOTPROVIDED")
        });
        book.push(BookLine::on(friday(), cents, name, "Customer payment").reference("iso11649", reference));
    }
    for number in 0..14_u32 {
        let (cents, name) = (-chance.cents(90_00, 4_500_00), chance.name());
        let id = format!("PAY-{:06}", 90_210 + number);
        bank.push(BankLine {
            counterparty: name.to_owned(),
            ..BankLine::on(friday(), cents, "ICDT", "Supplier payment").reference(&id)
        });
        book.push(BookLine::on(friday(), cents, name, "Supplier payment").reference("end_to_end", id));
    }
    batch(&mut chance, &mut bank, &mut book);
    breaks(&mut chance, &mut bank, &mut book);
    chance.shuffle(&mut bank);
    chance.shuffle(&mut book);
    bank.push(BankLine {
        counterparty: "Atelier Nebelhorn".to_owned(),
        pending: true,
        ..BankLine::on(friday(), chance.cents(400_00, 500_00), "RCDT", "Announced, not booked")
            .reference("INV-2026-03190")
    });
    let open_book = open_book(&mut chance, &mut bank);
    for (number, line) in (1_u32..).zip(&mut bank) {
        line.bank_id = format!("20261127EX{number:06}");
    }
    Account {
        id: "europe",
        currency: "EUR",
        opening_bank: 96_754_21,
        open_bank: Vec::new(),
        open_book,
        bank,
        book: numbered(book, "EU"),
    }
}

/// Six salaries, paid as one entry and posted as one.
fn batch(chance: &mut Chance, bank: &mut Vec<BankLine>, book: &mut Vec<BookLine>) {
    let mut details = Vec::new();
    for number in 1..=6 {
        let cents = -chance.cents(1_900_00, 3_400_00);
        details.push((format!("SAL-1126-{number:02}"), format!("Employee {number:02}"), cents));
    }
    let cents = details.iter().map(|(_, _, cents)| cents).sum();
    let line = BankLine::on(friday(), cents, "ICDT", "Salaries November SALRUN1126").reference("SALRUN1126");
    bank.push(BankLine { details, ..line });
    let mut posting =
        BookLine::on(friday(), cents, "", "Salaries November SALRUN1126").reference("untyped", "SALRUN1126");
    "SALRUN1126".clone_into(&mut posting.group);
    book.push(posting);
}

fn breaks(chance: &mut Chance, bank: &mut Vec<BankLine>, book: &mut Vec<BookLine>) {
    // FEE_UNBOOKED.
    bank.push(BankLine::on(friday(), chance.reserve(-12_50), "CHRG", "Account fee November"));
    // A direct debit, and its return on the same day; the books have neither: MISSING_IN_BOOK, twice.
    let cents = chance.reserve(-318_77);
    let line = BankLine {
        counterparty: "Stromwerk Talgrund".to_owned(),
        ..BankLine::on(friday(), cents, "RDDT", "Electricity, contract 4471-09").reference("DD-4471-1126")
    };
    bank.push(line.clone());
    bank.push(BankLine { cents: -cents, reversal: true, text: "Return of direct debit 4471-09".to_owned(), ..line });
    // AMOUNT: the customer kept a discount.
    bank.push(BankLine {
        counterparty: "Kontor Weidenfluss".to_owned(),
        ..BankLine::on(friday(), chance.reserve(2_940_00), "RCDT", "Invoice less 2 percent").reference("INV-2026-03099")
    });
    book.push(
        BookLine::on(friday(), chance.reserve(3_000_00), "Kontor Weidenfluss", "Customer payment")
            .reference("end_to_end", "INV-2026-03099"),
    );
    // MISSING_IN_BANK.
    book.push(
        BookLine::on(friday(), chance.reserve(-1_475_60), "Papierhaus Lindenau", "Supplier payment")
            .reference("end_to_end", "PAY-090299"),
    );
    // UNCONFIRMED: only the amount agrees.
    bank.push(BankLine {
        counterparty: "Rheinbogen Handel".to_owned(),
        ..BankLine::on(friday(), chance.reserve(857_13), "RCDT", "Anzahlung").reference("NOTPROVIDED")
    });
    book.push(BookLine::on(friday(), 857_13, "", "Advance, customer to be found"));
}

/// Payments that the books sent on Wednesday and Thursday.
fn open_book(chance: &mut Chance, bank: &mut Vec<BankLine>) -> Vec<OpenItem> {
    let mut items = Vec::new();
    for (number, day) in (0_u32..).zip([25, 26, 26]) {
        let (cents, name) = (-chance.cents(150_00, 2_500_00), chance.name());
        let reference = format!("PAY-{:06}", 90_180 + number);
        bank.push(BankLine {
            counterparty: name.to_owned(),
            ..BankLine::on(friday(), cents, "ICDT", "Supplier payment").reference(&reference)
        });
        items.push(OpenItem {
            id: format!("EU-{}", 40_950 + number),
            date: november(day),
            cents,
            reference,
            reference_type: "end_to_end",
            counterparty: name.to_owned(),
            description: "Supplier payment".to_owned(),
        });
    }
    items
}

/// The remainder of a text in base 36 by 97, as ISO 7064 takes it for creditor references and IBANs.
pub(crate) fn modulo_97(text: &str) -> u32 {
    text.chars()
        .filter_map(|c| c.to_digit(36))
        .fold(0, |rest, digit| (rest * if digit < 10 { 10 } else { 100 } + digit) % 97)
}

/// A creditor reference with its check digits.
fn iso_11649(body: &str) -> String {
    format!("RF{:02}{body}", 98 - modulo_97(&format!("{body}RF00")))
}
