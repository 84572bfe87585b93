//! The receivables account: boletos that customers pay, swept to the operating account.

#![expect(clippy::inconsistent_digit_grouping, reason = "cents stand apart: 1_845_00 is 1,845.00")]

use super::chance::Chance;
use super::day::{Account, BankLine, BookLine, OpenItem, friday, november, numbered};

/// What moves.
pub(crate) fn account() -> Account {
    let mut chance = Chance::new(65_432);
    let (mut bank, mut book) = (Vec::new(), Vec::new());
    let mut open_book = Vec::new();
    for number in 0..9_u32 {
        // Posted when the customer's file came, paid on Friday.
        let (cents, slip, name) = (chance.cents(90_00, 2_400_00), format!("109{}", chance.digits(8)), chance.name());
        bank.push(BankLine::on(friday(), cents, "CREDIT", "LIQUIDACAO BOLETO").reference(&slip));
        open_book.push(OpenItem {
            id: format!("RC-{}", 40_700 + number),
            date: november(if number < 4 { 25 } else { 26 }),
            cents,
            reference: slip,
            reference_type: "nosso_numero",
            counterparty: name.to_owned(),
            description: "Boleto a compensar".to_owned(),
        });
    }
    for _ in 0..96 {
        let (cents, slip, name) = (chance.cents(45_00, 3_200_00), format!("109{}", chance.digits(8)), chance.name());
        bank.push(BankLine::on(friday(), cents, "CREDIT", "LIQUIDACAO BOLETO").reference(&slip));
        book.push(BookLine::on(friday(), cents, name, "Boleto liquidado").reference("nosso_numero", slip));
    }
    for (number, cents) in (1..=3).zip([52_000_00, 31_500_00, 18_250_00]) {
        let document = format!("271126{number:02}");
        chance.reserve(cents);
        bank.push(BankLine::on(friday(), -cents, "XFER", "TRANSF ENTRE CONTAS").reference(&document));
        book.push(
            BookLine::on(friday(), -cents, "", "Transferência para a conta movimento").reference("document", document),
        );
    }
    // AMOUNT: paid late, with interest that the books do not have.
    bank.push(
        BankLine::on(friday(), chance.reserve(1_071_43), "CREDIT", "LIQUIDACAO BOLETO C/ JUROS")
            .reference("10988120034"),
    );
    book.push(
        BookLine::on(friday(), chance.reserve(1_050_00), "Pousada Beira Rio Doce", "Boleto liquidado")
            .reference("nosso_numero", "10988120034"),
    );
    // MISSING_IN_BOOK: a slip that the books do not know.
    bank.push(BankLine::on(friday(), chance.reserve(389_95), "CREDIT", "LIQUIDACAO BOLETO").reference("10900000417"));
    // MISSING_IN_BANK: posted as paid, and not paid.
    book.push(
        BookLine::on(friday(), chance.reserve(2_207_18), "Cerâmica Barro Vivo", "Boleto liquidado")
            .reference("nosso_numero", "10977650911"),
    );
    // DUP_BOOK: one payment, posted twice under two ids.
    let slip = "10955512240";
    bank.push(BankLine::on(friday(), chance.reserve(764_20), "CREDIT", "LIQUIDACAO BOLETO").reference(slip));
    for _ in 0..2 {
        book.push(
            BookLine::on(friday(), 764_20, "Laticínios Curral Velho", "Boleto liquidado")
                .reference("nosso_numero", slip),
        );
    }
    // FEE_UNBOOKED.
    chance.reserve(-2_15);
    for _ in 0..4 {
        bank.push(BankLine::on(friday(), -2_15, "SRVCHG", "TARIFA COBRANÇA LIQUIDAÇÃO"));
    }
    chance.shuffle(&mut bank);
    chance.shuffle(&mut book);
    let mut earlier = Vec::new();
    for day in 24..=26 {
        for _ in 0..5 {
            let (cents, slip, name) =
                (chance.cents(45_00, 3_200_00), format!("109{}", chance.digits(8)), chance.name());
            earlier.push(BankLine::on(november(day), cents, "CREDIT", "LIQUIDACAO BOLETO").reference(&slip));
            book.push(BookLine::on(november(day), cents, name, "Boleto liquidado").reference("nosso_numero", slip));
        }
    }
    earlier.append(&mut bank);
    for (number, line) in (1_u32..).zip(&mut earlier) {
        // The bank counts to a hundred, and begins again.
        line.bank_id = format!("{:04}", number % 100 + 1);
    }
    Account {
        id: "receivables",
        currency: "BRL",
        opening_bank: 47_120_08,
        open_bank: Vec::new(),
        open_book,
        bank: earlier,
        book: numbered(book, "RC"),
    }
}
