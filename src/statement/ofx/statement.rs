//! One STMTRS or CCSTMTRS: the statement of an account.

use chrono::NaiveDate;

use super::amount;
use super::line::Lines;
use super::oddity::{Oddities, Oddity};
use super::reading::{Reading, Slot};
use super::tag::Tag;
use super::tree::{Node, Tree};
use crate::money::Currency;
use crate::statement::{AccountKind, AccountRef, Balance, BankLine, DaysOver, LineStatus, Marker, Statement};

/// Reads the statement at `element`. `server` is DTSERVER's date, which stands in for a missing DTASOF where days count
/// as over. `None` where an error was found that leaves no statement; the file is refused then.
pub(super) fn read(reading: &mut Reading<'_, '_>, element: usize, server: Option<NaiveDate>) -> Option<Statement> {
    let node = *reading.tree.node(element)?;
    let line = reading.line(node.at());
    let account = account(reading, element, node.at());
    let currency = currency(reading, element, node.at());
    let tree = reading.tree;
    let currency = currency?;
    let mut odd = Oddities::default();
    let mut lines = Lines::new(currency);
    let mut period = Period::default();
    for (list, node) in tree.children(element) {
        let status = match node.tag {
            Tag::BANKTRANLIST => LineStatus::Booked,
            Tag::BANKTRANLISTP => LineStatus::Pending,
            _ => continue,
        };
        if status == LineStatus::Booked {
            period.widen(reading, list);
        }
        lines.reserve(tree.size(list));
        for (line, _) in lines_of(tree, list) {
            lines.read(reading, &mut odd, line, status);
        }
    }
    let (closing, as_of) = closing(reading, element, node.at(), currency, lines.marked);
    let as_of = as_of.or(server);
    let Lines { rows: lines, ledger_rows, .. } = lines;
    let Covered { from, to, stated } = period.covered(reading, node.at(), &lines, as_of)?;
    if stated {
        note_outside(&mut odd, &lines, from, to);
    }
    let markers = markers(reading, node.at(), &lines, &ledger_rows);
    odd.tell(reading);
    Some(Statement {
        account: account?,
        currency,
        id: None,
        sequence: None,
        from,
        to,
        over: DaysOver::Download { as_of, end: period.end },
        opening: None,
        closing,
        markers,
        lines,
        totals: Vec::new(),
        line,
    })
}

/// A line that no list of a statement holds: it was put beside or within something else, and would be lost in silence.
/// (Those of investments are left out with their statement.)
pub(super) fn unlisted(tree: &Tree) -> Option<&Node> {
    let mut listed = vec![false; tree.size(0) + 1];
    for (index, node) in tree.all() {
        match node.tag {
            Tag::STMTRS | Tag::CCSTMTRS => {
                let lists = tree.children(index).filter(|(_, node)| is_list(node));
                lists.flat_map(|(list, _)| lines_of(tree, list)).for_each(|(line, _)| listed[line] = true);
            }
            Tag::INVSTMTRS | Tag::LOANSTMTRS => listed[index..=index + tree.size(index)].fill(true),
            _ => {}
        }
    }
    tree.all().find(|(index, node)| is_line(node) && !listed[*index]).map(|(_, node)| node)
}

fn lines_of(tree: &Tree, list: usize) -> impl Iterator<Item = (usize, &Node)> {
    tree.children(list).filter(|(_, node)| is_line(node))
}

fn is_list(node: &Node) -> bool {
    matches!(node.tag, Tag::BANKTRANLIST | Tag::BANKTRANLISTP)
}

fn is_line(node: &Node) -> bool {
    matches!(node.tag, Tag::STMTTRN | Tag::STMTTRNP)
}

/// A group that a statement has once. Which of two would count is not ours to say.
fn the_one(reading: &mut Reading<'_, '_>, statement: usize, is: fn(Tag) -> bool) -> Option<(usize, Node)> {
    let tree = reading.tree;
    let mut groups = tree.children(statement).filter(|(_, node)| is(node.tag));
    let (index, node) = groups.next()?;
    if let Some((_, second)) = groups.next() {
        reading.error("DUPLICATE", second.at(), format!("{} is here a second time", second.tag.name()));
    }
    Some((index, *node))
}

fn account(reading: &mut Reading<'_, '_>, statement: usize, at: usize) -> Option<AccountRef> {
    let from = the_one(reading, statement, |tag| matches!(tag, Tag::BANKACCTFROM | Tag::CCACCTFROM));
    let Some((from, node)) = from else {
        reading.error("ACCTID", at, "the statement names no account: BANKACCTFROM or CCACCTFROM is absent");
        return None;
    };
    let (bank, branch) = (reading.child(from, Tag::BANKID), reading.child(from, Tag::BRANCHID));
    let number = reading.child(from, Tag::ACCTID);
    let written = reading.owned(number);
    if written.is_none() {
        let at = number.map_or(node.at(), |node| node.at());
        reading.warning("ACCTID", at, "ACCTID is empty: the statement does not say whose it is");
    }
    let kind = if node.tag == Tag::CCACCTFROM { AccountKind::Card } else { AccountKind::Bank };
    Some(AccountRef {
        bank: reading.owned(bank),
        branch: reading.owned(branch),
        number: written.unwrap_or_default(),
        kind,
    })
}

fn currency(reading: &mut Reading<'_, '_>, statement: usize, at: usize) -> Option<Currency> {
    let Some(node) = reading.child(statement, Tag::CURDEF) else {
        reading.error("CURRENCY", at, "the statement names no currency: CURDEF is absent");
        return None;
    };
    let code = reading.value(&node).to_ascii_uppercase();
    match Currency::new(&code) {
        Ok(currency) => Some(currency),
        Err(unknown) => {
            reading.error("CURRENCY", node.value_at(), format!("CURDEF: {unknown}"));
            None
        }
    }
}

/// LEDGERBAL, and the day that DTASOF names. A balance that is empty or carries no date is absent, not zero.
fn closing(
    reading: &mut Reading<'_, '_>,
    statement: usize,
    at: usize,
    currency: Currency,
    marked: (bool, bool),
) -> (Option<Balance>, Option<NaiveDate>) {
    let Some((ledger, node)) = the_one(reading, statement, |tag| tag == Tag::LEDGERBAL) else {
        reading.warning("LEDGERBAL", at, "no LEDGERBAL: the statement states no closing balance");
        return (None, None);
    };
    let (amount, date) = (reading.child(ledger, Tag::BALAMT), reading.child(ledger, Tag::DTASOF));
    let as_of = dated(reading, date, node.at());
    let Some(amount) = amount.filter(|node| !reading.value(node).is_empty()) else {
        let at = amount.map_or(node.at(), |node| node.at());
        reading.warning("BALAMT", at, "BALAMT is empty: the statement states no closing balance");
        return (None, as_of);
    };
    let written = reading.value(&amount);
    let at = amount.value_at();
    let money = match amount::read(&written, currency) {
        Ok(amount) => amount,
        Err(unreadable) => {
            reading.error("BALAMT", at, format!("BALAMT: {unreadable}"));
            return (None, as_of);
        }
    };
    if money.doubtful {
        let message = format!("BALAMT: {written:?} was read with a decimal mark; thousands would be another amount");
        reading.warning("BALAMT", at, message);
    }
    if !money.money.is_zero() && !written.contains(['.', ',']) && marked == (true, false) {
        let message = format!(
            "BALAMT: {written:?} has no decimal mark, and every line has one: read as {}; if it is in cents, the balances \
             will not close",
            money.money
        );
        reading.warning("BALAMT", at, message);
    }
    (as_of.map(|day| Balance { amount: money.money, date: Some(day) }), as_of)
}

/// DTASOF.
fn dated(reading: &mut Reading<'_, '_>, slot: Slot, ledger: usize) -> Option<NaiveDate> {
    let as_of = reading.date(slot).ok()?;
    if as_of.is_none() {
        let at = slot.map_or(ledger, |node| node.at());
        reading.warning(
            "DTASOF",
            at,
            "DTASOF is absent, empty or zero: the balance is of no day, and counts as absent",
        );
    }
    as_of
}

/// DTSTART and DTEND, over all lists of the statement.
#[derive(Debug, Default)]
struct Period {
    start: Option<NaiveDate>,
    end: Option<NaiveDate>,
}

/// The days that a statement covers, and whether it said so itself.
struct Covered {
    from: NaiveDate,
    to: NaiveDate,
    stated: bool,
}

// === impl Period ===

impl Period {
    fn widen(&mut self, reading: &mut Reading<'_, '_>, list: usize) {
        let (start, end) = (reading.child(list, Tag::DTSTART), reading.child(list, Tag::DTEND));
        let (Ok(from), Ok(to)) = (reading.date(start), reading.date(end)) else { return };
        if let (Some(from), Some(to), Some(node)) = (from, to, start)
            && from > to
        {
            reading.error("PERIOD", node.at(), format!("DTSTART {from} is later than DTEND {to}"));
        }
        self.start = [self.start, from].into_iter().flatten().min();
        self.end = [self.end, to].into_iter().flatten().max();
    }

    /// The stated days; where one is not stated, the lines' first or last day, else the day of the balance.
    fn covered(
        &self,
        reading: &mut Reading<'_, '_>,
        at: usize,
        lines: &[BankLine],
        as_of: Option<NaiveDate>,
    ) -> Option<Covered> {
        let booked = lines.iter().filter(|line| line.status == LineStatus::Booked).map(|line| line.booking_date);
        let (first, last) = (booked.clone().min(), booked.max());
        if let (Some(from), Some(to)) = (self.start, self.end) {
            return Some(Covered { from, to: to.max(from), stated: true });
        }
        let first = first.map(|day| self.end.map_or(day, |end| day.min(end)));
        let from = self.start.or(first).or(self.end).or(as_of);
        let to = self.end.or(last).or(as_of).or(from);
        let (Some(from), Some(to)) = (from, to) else {
            if !reading.found.has_errors() {
                let message =
                    "the statement names no day: neither DTSTART, DTEND, DTASOF nor DTSERVER, and it has no line";
                reading.error("PERIOD", at, message);
            }
            return None;
        };
        let missing = match (self.start, self.end) {
            (None, None) => "DTSTART and DTEND are",
            (None, _) => "DTSTART is",
            _ => "DTEND is",
        };
        let (from, to) = (from.min(to), to.max(from));
        reading.info(
            "PERIOD",
            at,
            format!("{missing} absent or zero: taken to cover {from} to {to}, by its lines and balance"),
        );
        Some(Covered { from, to, stated: false })
    }
}

fn note_outside(odd: &mut Oddities, lines: &[BankLine], from: NaiveDate, to: NaiveDate) {
    let outside = lines.iter().filter(|line| line.is_movement() && !(from..=to).contains(&line.booking_date));
    for line in outside {
        odd.note_at_line(Oddity::OutsidePeriod, line.line, || line.booking_date.to_string());
    }
}

/// The balances among the lines, as anchors. Where the lines run from the newest to the oldest, what comes before a
/// balance in the file came after it in time: such balances are kept as rows, and are no anchors.
fn markers(reading: &mut Reading<'_, '_>, at: usize, lines: &[BankLine], ledger_rows: &[usize]) -> Vec<Marker> {
    if ledger_rows.is_empty() {
        return Vec::new();
    }
    let dates = || lines.iter().filter(|line| line.is_movement()).map(|line| line.booking_date);
    let (mut rises, mut falls) = (false, false);
    for (day, next) in dates().zip(dates().skip(1)) {
        rises |= day < next;
        falls |= day > next;
    }
    if falls && !rises {
        let message = "the lines run from the newest to the oldest: the balances between them are not used as proof";
        reading.info("ORDER", at, message);
        return Vec::new();
    }
    let mut after_lines = 0;
    let mut markers = Vec::with_capacity(ledger_rows.len());
    for (index, line) in lines.iter().enumerate() {
        if ledger_rows.binary_search(&index).is_ok() {
            markers.push(Marker { date: line.booking_date, amount: line.amount, after_lines, line: line.line });
        }
        after_lines += u32::from(line.is_movement());
    }
    markers
}
