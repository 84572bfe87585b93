//! The operating account: Pix, boletos, transfers, fees. Most breaks of the day are here.

#![expect(clippy::inconsistent_digit_grouping, reason = "cents stand apart: 1_845_00 is 1,845.00")]

use super::chance::Chance;
use super::day::{Account, BankLine, BookLine, OpenItem, friday, november, numbered};

/// What moves.
pub(crate) fn account() -> Account {
    let mut chance = Chance::new(20_261_127);
    let (mut bank, mut book) = (Vec::new(), Vec::new());
    let open_book = open_book(&mut chance, &mut bank);
    let open_bank = open_bank(&mut book);
    breaks(&mut chance, &mut bank, &mut book);
    ordinary(&mut chance, &mut bank, &mut book);
    chance.shuffle(&mut bank);
    chance.shuffle(&mut book);
    voided(&mut chance, &mut book);
    let mut earlier = Vec::new();
    before(&mut chance, &mut earlier, &mut book);
    // Two postings of Monday, which wait for Monday's run.
    book.push(
        BookLine::on(november(30), -1_845_00, "Imobiliária Telhado", "Aluguel dezembro")
            .reference("document", "300126"),
    );
    book.push(
        BookLine::on(november(30), 620_40, "Hotel Pedra Funda", "Recebimento NF 5102").reference("untyped", "NF005102"),
    );
    earlier.append(&mut bank);
    for (number, line) in (1_u32..).zip(&mut earlier) {
        // The bank gives an id to some lines only, and zeros to others.
        line.bank_id = match number % 7 {
            0 => String::new(),
            3 => "0".to_owned(),
            _ => format!("2026{:06}", 77_000 + number),
        };
    }
    Account {
        id: "operating",
        currency: "BRL",
        opening_bank: 284_310_55,
        open_bank,
        open_book,
        bank: earlier,
        book: numbered(book, "OP"),
    }
}

/// Lines of Tuesday to Thursday, on both sides: before the opening, and outside every proof.
fn before(chance: &mut Chance, bank: &mut Vec<BankLine>, book: &mut Vec<BookLine>) {
    for day in 24..=26 {
        for _ in 0..9 {
            let (cents, id) = (chance.cents(20_00, 4_000_00), chance.pix('E', november(day)));
            let name = chance.name();
            bank.push(BankLine::on(november(day), cents, "CREDIT", format!("PIX RECEBIDO {name} {id}")));
            book.push(BookLine::on(november(day), cents, name, "Recebimento Pix").reference("pix_end_to_end", id));
        }
    }
}

fn ordinary(chance: &mut Chance, bank: &mut Vec<BankLine>, book: &mut Vec<BookLine>) {
    for _ in 0..58 {
        let (cents, id, name) = (chance.cents(15_00, 3_500_00), chance.pix('E', friday()), chance.name());
        bank.push(BankLine::on(friday(), cents, "CREDIT", format!("PIX RECEBIDO {} {id}", name.to_uppercase())));
        book.push(BookLine::on(friday(), cents, name, "Recebimento Pix").reference("pix_end_to_end", id));
    }
    for _ in 0..22 {
        let (cents, id, name) = (-chance.cents(80_00, 9_000_00), chance.pix('E', friday()), chance.name());
        bank.push(BankLine::on(friday(), cents, "DEBIT", format!("PIX ENVIADO {} {id}", name.to_uppercase())));
        book.push(BookLine::on(friday(), cents, name, "Pagamento Pix").reference("pix_end_to_end", id));
    }
    for _ in 0..26 {
        let (cents, document, name) = (-chance.cents(120_00, 12_000_00), chance.digits(6), chance.name());
        let text = format!("PAGTO BOLETO {}", name.to_uppercase());
        bank.push(BankLine::on(friday(), cents, "PAYMENT", text).reference(format!("1{document}")));
        book.push(BookLine::on(friday(), cents, name, "Boleto pago").reference("document", format!("1{document}")));
    }
    for number in 0..18 {
        let (cents, name) = (chance.cents(300_00, 15_000_00), chance.name());
        let invoice = format!("NF{:06}", 8_801 + number * 7);
        bank.push(BankLine::on(friday(), cents, "CREDIT", format!("TED RECEBIDA REF {invoice}")));
        book.push(BookLine::on(friday(), cents, name, format!("Recebimento fatura {invoice}")));
    }
    // Sweeps from the receivables account: each is two matches, one on each account.
    for (number, cents) in (1..=3).zip([52_000_00, 31_500_00, 18_250_00]) {
        let document = format!("271126{number:02}");
        bank.push(BankLine::on(friday(), chance.reserve(cents), "XFER", "TRANSF ENTRE CONTAS").reference(&document));
        book.push(BookLine::on(friday(), cents, "", "Transferência da conta cobrança").reference("document", document));
    }
    // A fee that the books do have.
    bank.push(BankLine::on(friday(), chance.reserve(-36_80), "SRVCHG", "TARIFA COMANDO TED").reference("3680271"));
    book.push(BookLine::on(friday(), -36_80, "", "Tarifa bancária").reference("document", "3680271"));
    // Two movements of nothing.
    bank.push(BankLine::on(friday(), 0, "OTHER", "AVISO: LIMITE REVISADO"));
    bank.push(BankLine::on(friday(), 0, "OTHER", "AVISO: CADASTRO ATUALIZADO"));
}

/// One of each class, on purpose.
fn breaks(chance: &mut Chance, bank: &mut Vec<BankLine>, book: &mut Vec<BookLine>) {
    // MISSING_IN_BANK: posted, not presented.
    let cheque = chance.reserve(-2_780_00);
    book.push(
        BookLine::on(friday(), cheque, "Serralheria Ferro Batido", "Cheque emitido").reference("cheque", "000871"),
    );
    let payroll = chance.reserve(-18_904_37);
    book.push(
        BookLine::on(friday(), payroll, "", "Adiantamento da folha, remessa 44").reference("untyped", "REM000044"),
    );
    // MISSING_IN_BOOK: somebody paid, nobody knows who.
    bank.push(BankLine::on(friday(), chance.reserve(1_313_07), "DEP", "DEPOSITO IDENTIFICADO AG 0042"));
    bank.push(BankLine::on(friday(), chance.reserve(94_15), "CREDIT", "RENDIMENTO APLIC AUT"));
    // AMOUNT: two digits changed places.
    bank.push(
        BankLine::on(friday(), chance.reserve(-1_250_00), "PAYMENT", "PAGTO BOLETO VIDRACARIA").reference("5520931"),
    );
    book.push(
        BookLine::on(friday(), chance.reserve(-1_205_00), "Vidraçaria Transparência", "Boleto pago")
            .reference("document", "5520931"),
    );
    // DIRECTION: posted on the wrong side.
    let id = chance.pix('E', friday());
    bank.push(BankLine::on(friday(), chance.reserve(-640_00), "DEBIT", format!("PIX ENVIADO EMBALAGENS DOBRA {id}")));
    book.push(BookLine::on(friday(), 640_00, "Embalagens Dobra", "Pagamento Pix").reference("pix_end_to_end", id));
    // DATE_WINDOW: the partner is an open item of the 11th; the books may precede the bank by five business days.
    bank.push(BankLine::on(friday(), chance.reserve(3_780_00), "CREDIT", "TED RECEBIDA ZIMBROLAR"));
    // REF_CONFLICT: one amount, two document numbers.
    bank.push(BankLine::on(friday(), chance.reserve(-2_310_40), "PAYMENT", "PAGTO BOLETO MOINHO").reference("7781204"));
    book.push(
        BookLine::on(friday(), -2_310_40, "Torrefação Grão Escuro", "Boleto pago").reference("document", "7718204"),
    );
    // AMBIGUOUS: two receipts, three invoices of the same amount, and nothing that tells them apart.
    chance.reserve(480_00);
    for _ in 0..2 {
        bank.push(BankLine::on(friday(), 480_00, "CREDIT", "PIX RECEBIDO POSTO CAVALINHO"));
    }
    for route in ["norte", "leste", "oeste"] {
        book.push(BookLine::on(friday(), 480_00, "Posto Cavalinho", format!("Fatura rota {route}")));
    }
    // Interchangeable: three and three, equal in all that is compared. No break.
    chance.reserve(-89_90);
    for _ in 0..3 {
        bank.push(BankLine::on(friday(), -89_90, "DEBIT", "DEB AUTOM ASSINATURA NUVEMLIVRE"));
        book.push(BookLine::on(friday(), -89_90, "Nuvemlivre", "Assinatura mensal"));
    }
    // FEE_UNBOOKED.
    chance.reserve(-1_90);
    for _ in 0..3 {
        bank.push(BankLine::on(friday(), -1_90, "SRVCHG", "TARIFA PIX ENVIADO"));
    }
    bank.push(BankLine::on(friday(), chance.reserve(-58_00), "SRVCHG", "TAR MANUTENÇÃO DE CONTA"));
    bank.push(BankLine::on(friday(), chance.reserve(-38), "FEE", "IOF S/ SALDO DEVEDOR"));
    // UNCONFIRMED: an amount that only these two have.
    bank.push(BankLine::on(friday(), chance.reserve(-7_412_33), "DEBIT", "PAGTO ELETRONICO TRIBUTO"));
    book.push(BookLine::on(friday(), -7_412_33, "", "DAS competência outubro"));
}

/// A posting and its void. No break.
fn voided(chance: &mut Chance, book: &mut Vec<BookLine>) {
    let cents = chance.cents(500_00, 900_00);
    let mut wrong =
        BookLine::on(friday(), -cents, "Gráfica Papel Miúdo", "Boleto pago").reference("document", "6610077");
    "OP-V0001".clone_into(&mut wrong.id);
    let mut void = BookLine { cents, id: "OP-V0002".to_owned(), ..wrong.clone() };
    "Estorno: lançado em duplicidade".clone_into(&mut void.description);
    void.reverses.clone_from(&wrong.id);
    book.push(wrong);
    book.push(void);
}

/// What the books had posted before Friday, and the bank books on Friday (or never).
fn open_book(chance: &mut Chance, bank: &mut Vec<BankLine>) -> Vec<OpenItem> {
    let mut items = Vec::new();
    for (number, day) in (0_u32..).zip([23, 24, 24, 25, 25, 25, 26, 26, 26, 26]) {
        let (cents, document, name) =
            (-chance.cents(200_00, 6_000_00), format!("24{}", chance.digits(5)), chance.name());
        let text = format!("PAGTO BOLETO {}", name.to_uppercase());
        bank.push(BankLine::on(friday(), cents, "PAYMENT", text).reference(&document));
        items.push(OpenItem {
            id: format!("OP-{}", 40_880 + number),
            date: november(day),
            cents,
            reference: document,
            reference_type: "document",
            counterparty: name.to_owned(),
            description: "Boleto agendado".to_owned(),
        });
    }
    // DATE_WINDOW, see above; and a cheque that was never presented.
    items.push(OpenItem {
        id: "OP-39417".to_owned(),
        date: november(11),
        cents: 3_780_00,
        reference: String::new(),
        reference_type: "",
        counterparty: "Zimbrolar".to_owned(),
        description: "Recebimento previsto".to_owned(),
    });
    items.push(OpenItem {
        id: "OP-36002".to_owned(),
        date: november(3),
        cents: chance.reserve(-1_120_00),
        reference: "000854".to_owned(),
        reference_type: "cheque",
        counterparty: "Estúdio Meia Luz".to_owned(),
        description: "Cheque emitido".to_owned(),
    });
    items
}

/// What the bank had booked before Friday, and the books post on Friday.
fn open_bank(book: &mut Vec<BookLine>) -> Vec<OpenItem> {
    let item = |id: &str, day, cents, text: &str| OpenItem {
        id: id.to_owned(),
        date: november(day),
        cents,
        reference: String::new(),
        reference_type: "",
        counterparty: String::new(),
        description: text.to_owned(),
    };
    book.push(
        BookLine::on(friday(), -212_66, "", "Multa contratual, apontamento QX20991").reference("untyped", "QX20991"),
    );
    vec![
        item("operating-2026-11-26-1", 26, -212_66, "DEB CONTRATO QX20991"),
        item("operating-2026-11-19-1", 19, 730_00, "DEPOSITO EM DINHEIRO AG 0042"),
    ]
}
