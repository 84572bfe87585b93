//! Field 86: what a line is about. The standard leaves its content to the banks; three habits are known:
//!
//! - *numbered*: a transaction code, then `?00` … `?63` (German and Austrian banks; other marks than `?` occur). 20–29 and
//!   60–63 are the remittance, with `EREF+`, `SVWZ+`, … in it; 30, 31, 32, 33 the other side's bank, account and name;
//! - *named*: `/EREF/…/NAME/…/REMI/…` (Dutch banks, and after them others);
//! - *free text*.
//!
//! Lines were cut at 65 characters, and the numbered parts at 27, in the middle of words: a full piece goes on without a
//! space.

use crate::reference::{Reference, ReferenceKind};
use crate::statement::Counterparty;
use crate::statement::text::single_spaced;

/// What a field 86 tells of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Information {
    /// Its transaction code (Geschäftsvorfallcode), three digits.
    pub(super) code: Option<String>,
    pub(super) references: Vec<Reference>,
    pub(super) counterparty: Option<Counterparty>,
    pub(super) description: String,
}

/// Where SWIFT cuts a line, and banks a numbered part.
const LINE: usize = 65;
const PART: usize = 27;

/// The words of the numbered habit, and of which kind the reference is; none for what is prose.
const WORDS: [(&str, Option<ReferenceKind>); 16] = [
    ("EREF+", Some(ReferenceKind::EndToEnd)),
    ("KREF+", Some(ReferenceKind::PaymentInformation)),
    ("MREF+", Some(ReferenceKind::Mandate)),
    ("BREF+", Some(ReferenceKind::AccountServicer)),
    ("RREF+", None),
    ("CRED+", None),
    ("DEBT+", None),
    ("COAM+", None),
    ("OAMT+", None),
    ("SVWZ+", None),
    ("ABWA+", None),
    ("ABWE+", None),
    ("IBAN+", None),
    ("BIC+", None),
    ("PREF+", Some(ReferenceKind::Message)),
    ("PURP+", None),
];

/// The names of the named habit.
const NAMES: [&str; 26] = [
    "TRTP", "IBAN", "BIC", "NAME", "REMI", "EREF", "MARF", "CSID", "ORDP", "BENM", "ULTC", "ULTD", "ULTB", "PURP",
    "ISDT", "RTRN", "CNTP", "OCMT", "EXCH", "CHGS", "PREF", "IREF", "KREF", "SVCL", "SUBJ", "TYPE",
];

/// Reads the lines of a field 86.
pub(super) fn read(lines: &[&str]) -> Information {
    let text = joined(lines);
    let text = text.trim();
    if let Some((code, mark)) = numbered(text) {
        read_numbered(text, code, mark)
    } else if let Some(parts) = named(text) {
        read_named(&parts)
    } else {
        Information { description: single_spaced(text), ..Information::default() }
    }
}

/// The lines as one text: a full one goes on in the middle of a word.
fn joined(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        if numbered(&text).is_none() && line.chars().count() < LINE {
            text.push(' ');
        }
    }
    text
}

/// Three digits, a mark, and two digits: the code and the mark.
fn numbered(text: &str) -> Option<(&str, char)> {
    let code = text.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))?;
    let mark = text[3..].chars().next().filter(|mark| !mark.is_alphanumeric() && !mark.is_whitespace())?;
    let number = text[3 + mark.len_utf8()..].get(..2)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((code, mark))
}

fn read_numbered(text: &str, code: &str, mark: char) -> Information {
    let mut remittance: Vec<&str> = Vec::new();
    let mut booking_text = "";
    let (mut bank, mut account, mut name, mut last) = (String::new(), String::new(), String::new(), 0);
    let mut rest = &text[3..];
    while let Some(after) = rest.strip_prefix(mark) {
        let Some(number) = after.get(..2) else { break };
        let content = &after[2..];
        let end = content
            .match_indices(mark)
            .map(|(at, _)| at)
            .find(|at| {
                let next = &content.as_bytes()[at + mark.len_utf8()..];
                matches!(next, [a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit())
            })
            .unwrap_or(content.len());
        let value = &content[..end];
        match number {
            "00" => booking_text = value,
            "20" | "21" | "22" | "23" | "24" | "25" | "26" | "27" | "28" | "29" | "60" | "61" | "62" | "63" => {
                remittance.push(value);
            }
            "30" => bank.push_str(value),
            "31" => account.push_str(value),
            "32" | "33" => piece(&mut name, &mut last, value),
            // 10 primanota, 34 text key, and what single banks add: no part of what a payment says.
            _ => {}
        }
        rest = &content[end..];
    }
    let (references, prose) = words(&remittance);
    let description = [booking_text, prose.as_str()].join(" ");
    let filled = |text: &str| Some(single_spaced(text)).filter(|text| !text.is_empty());
    let counterparty =
        Counterparty { name: filled(&name), account: filled(&account), tax_id: None, bank: filled(&bank) };
    Information {
        code: Some(code.to_owned()),
        references,
        counterparty: Some(counterparty).filter(|party| *party != Counterparty::default()),
        description: single_spaced(&description),
    }
}

/// Appends a part: behind a full one without a space.
fn piece(text: &mut String, last: &mut usize, part: &str) {
    if !text.is_empty() && *last < PART {
        text.push(' ');
    }
    text.push_str(part);
    *last = part.chars().count();
}

/// The remittance, taken apart by its words. What a word leads ends at the next one.
fn words(parts: &[&str]) -> (Vec<Reference>, String) {
    let mut led: Vec<(Option<&str>, String, usize)> = vec![(None, String::new(), 0)];
    for part in parts {
        // A word stands at the beginning of a part; some banks put several into one.
        let mut rest = *part;
        loop {
            let next = WORDS.iter().filter_map(|(word, _)| Some((rest.find(word)?, *word))).min();
            let (before, found) = next.map_or((rest, None), |(at, word)| (&rest[..at], Some((at, word))));
            if let Some((_, text, last)) = led.last_mut() {
                if !before.is_empty() {
                    if !text.is_empty() && *last < PART {
                        text.push(' ');
                    }
                    text.push_str(before);
                }
                // Of a full part, what stands behind its word is full as well.
                *last = part.chars().count();
            }
            let Some((at, word)) = found else { break };
            led.push((Some(word), String::new(), PART));
            rest = &rest[at + word.len()..];
        }
    }
    let mut references = Vec::new();
    let mut prose = Vec::new();
    for (word, text, _) in led {
        let kind = WORDS.iter().find(|(known, _)| Some(*known) == word).and_then(|(_, kind)| *kind);
        match (kind, word) {
            (Some(kind), _) => add(&mut references, kind, &text),
            (None, None | Some("SVWZ+" | "ABWA+" | "ABWE+")) => prose.push(text),
            (None, Some(word)) if !text.trim().is_empty() => prose.push(format!("{word}{text}")),
            _ => {}
        }
    }
    (references, prose.join(" "))
}

/// `/NAME/value/NAME/value`: the parts, if the text begins so. A value may hold slashes of its own.
fn named(text: &str) -> Option<Vec<(&'static str, &str)>> {
    let name_at = |at: usize| {
        let after = text.get(at + 1..)?;
        NAMES.into_iter().find(|name| after.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
    };
    let starts: Vec<(usize, &'static str)> =
        text.match_indices('/').filter_map(|(at, _)| Some((at, name_at(at)?))).collect();
    if starts.first().is_none_or(|(at, _)| *at != 0) {
        return None;
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    let value = |(at, name): (usize, &str), end: usize| {
        text.get(at + name.len() + 2..end).unwrap_or_default().trim_matches('/').trim()
    };
    Some(starts.iter().copied().zip(ends).map(|(start, end)| (start.1, value(start, end))).collect())
}

fn read_named(parts: &[(&'static str, &str)]) -> Information {
    let mut references = Vec::new();
    let mut party = Counterparty::default();
    let mut prose = Vec::new();
    for (name, value) in parts {
        let fill = |slot: &mut Option<String>, value: &str| {
            if slot.is_none() && !value.trim().is_empty() {
                *slot = Some(single_spaced(value));
            }
        };
        match *name {
            "EREF" => add(&mut references, ReferenceKind::EndToEnd, value),
            "MARF" => add(&mut references, ReferenceKind::Mandate, value),
            "PREF" | "KREF" => add(&mut references, ReferenceKind::PaymentInformation, value),
            "IREF" => add(&mut references, ReferenceKind::Instruction, value),
            "IBAN" => fill(&mut party.account, value),
            "BIC" => fill(&mut party.bank, value),
            "NAME" => fill(&mut party.name, value),
            // Account, bank, name, town.
            "CNTP" => {
                let mut of = value.split('/');
                for slot in [&mut party.account, &mut party.bank, &mut party.name] {
                    fill(slot, of.next().unwrap_or_default());
                }
            }
            // The kind of remittance stands before it: text, or a creditor's reference.
            "REMI" => {
                let (kind, rest) = value.split_once('/').unwrap_or(("", value));
                match kind {
                    "USTD" => prose.push(rest.trim_matches('/')),
                    "STRD" => {
                        let reference = rest.rsplit('/').find(|part| !part.is_empty()).unwrap_or(rest);
                        add(&mut references, ReferenceKind::Untyped, reference);
                        prose.push(rest);
                    }
                    _ => prose.push(value),
                }
            }
            // Identifications of parties and purposes: no part of what a payment says.
            "CSID" | "PURP" | "TYPE" | "SVCL" | "ISDT" => {}
            _ => prose.push(value),
        }
    }
    Information {
        code: None,
        references,
        counterparty: Some(party).filter(|party| *party != Counterparty::default()),
        description: single_spaced(&prose.join(" ")),
    }
}

/// Reads a field NS, as German banks send to private customers: lines that begin with two digits. 01 to 14 are the
/// remittance, 15 and 16 the other side's name, 17 the booking text.
pub(super) fn of_private_customers(lines: &[&str]) -> Information {
    let (mut prose, mut name) = (Vec::new(), Vec::new());
    for line in lines {
        let Some((number, text)) = line.split_at_checked(2) else { continue };
        match number.parse::<u8>() {
            Ok(1..=14 | 17) => prose.push(text),
            Ok(15 | 16) => name.push(text),
            _ => {}
        }
    }
    let name = Some(single_spaced(&name.join(" "))).filter(|name| !name.is_empty());
    Information {
        counterparty: name.map(|name| Counterparty { name: Some(name), ..Counterparty::default() }),
        description: single_spaced(&prose.join(" ")),
        ..Information::default()
    }
}

fn add(references: &mut Vec<Reference>, kind: ReferenceKind, text: &str) {
    // Spaces are where a line was cut: no reference has them.
    let text: String = text.split_whitespace().collect();
    if let Some(reference) = Reference::new(kind, &text).filter(|reference| !references.contains(reference)) {
        references.push(reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(information: &Information) -> Vec<String> {
        information.references.iter().map(|it| format!("{}={}", it.kind().name(), it.value())).collect()
    }

    #[test]
    fn the_numbered_habit_is_taken_apart_and_full_parts_go_on_without_a_space() {
        let read = read(&[
            "166?00GUTSCHRIFT?109300?20EREF+INV-2026-000042?21MREF+M-7?22SVWZ+",
            "Rechnung 42 vom 1. N?23ovember, danke?24 sehr?30EXAMDEFFXXX?31DE02120300000",
            "000202051?32MUSTER UND PARTNER GESELLSC?33HAFT MBH?34000",
        ]);
        assert_eq!(read.code.as_deref(), Some("166"));
        assert_eq!(told(&read), ["end_to_end=INV-2026-000042", "mandate=M-7"]);
        let party = read.counterparty.unwrap();
        assert_eq!(party.account.as_deref(), Some("DE02120300000000202051"));
        assert_eq!(party.bank.as_deref(), Some("EXAMDEFFXXX"));
        assert_eq!(party.name.as_deref(), Some("MUSTER UND PARTNER GESELLSCHAFT MBH"));
        assert_eq!(read.description, "GUTSCHRIFT Rechnung 42 vom 1. N ovember, danke sehr");
    }

    #[test]
    fn a_mark_without_a_number_behind_it_is_text() {
        let read = read(&["008?00DAUERAUFTRAG?20Miete? ja?21Juni?32MUELLER"]);
        assert_eq!(read.description, "DAUERAUFTRAG Miete? ja Juni");
        assert_eq!(read.counterparty.unwrap().name.as_deref(), Some("MUELLER"));
    }

    #[test]
    fn the_named_habit_is_taken_apart_and_a_value_may_hold_slashes() {
        let text = "/TRTP/SEPA OVERBOEKING/IBAN/NL02ABNA0123456789/BIC/ABNANL2A/NAME/A/B VOF/REMI/USTD//FACTUUR 7/8/EREF/E2E-0007";
        let lines: Vec<&str> = [&text[..LINE], &text[LINE..]].to_vec();
        let read = read(&lines);
        assert_eq!(told(&read), ["end_to_end=E2E-0007"]);
        let party = read.counterparty.unwrap();
        assert_eq!((party.name.as_deref(), party.account.as_deref()), (Some("A/B VOF"), Some("NL02ABNA0123456789")));
        assert_eq!(read.description, "SEPA OVERBOEKING FACTUUR 7/8");
    }

    #[test]
    fn free_text_is_kept_and_a_cut_word_is_made_whole() {
        let long = "x".repeat(LINE);
        assert_eq!(read(&[&long, "yz", "next"]).description, format!("{long}yz next"));
        assert_eq!(read(&["0111111111 CAFE", " 10 EUR"]).description, "0111111111 CAFE 10 EUR");
        assert_eq!(read(&["/no name/ at all"]).description, "/no name/ at all");
        assert_eq!(read(&[]), Information::default());
    }
}
