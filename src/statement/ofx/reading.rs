//! One OFX element being read: its tree, the places of its parts, and what was found.

use std::borrow::Cow;

use chrono::NaiveDate;

use super::tag::Tag;
use super::tree::{Found, Node, Tree};
use super::{date, value};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::statement::place::Places;

/// What a statement's reader reads from and reports to.
pub(super) struct Reading<'a, 'f> {
    pub(super) text: &'a str,
    pub(super) tree: &'f Tree,
    pub(super) places: &'f mut Places<'a>,
    pub(super) found: &'f mut Diagnostics,
}

/// An element that comes once: its node, and whether it came again with other content.
pub(super) type Slot = Option<Node>;

/// Something is wrong, and was reported.
#[derive(Debug)]
pub(super) struct Told;

// === impl Reading ===

impl<'a> Reading<'a, '_> {
    /// The value of an element.
    pub(super) fn value(&self, node: &Node) -> Cow<'a, str> {
        value::value(node.raw(self.text))
    }

    /// The value of an element that is there and not empty.
    pub(super) fn filled(&self, slot: Slot) -> Option<Cow<'a, str>> {
        slot.map(|node| self.value(&node)).filter(|value| !value.is_empty())
    }

    /// A copy of it.
    pub(super) fn owned(&self, slot: Slot) -> Option<String> {
        self.filled(slot).map(Cow::into_owned)
    }

    /// Puts an element in its slot. A second one must say the same.
    pub(super) fn put(&mut self, slot: &mut Slot, node: &Node) {
        match slot {
            None => *slot = Some(*node),
            Some(first) if self.value(first) == self.value(node) => {}
            Some(_) => {
                let name = node.tag.name();
                self.error("DUPLICATE", node.at(), format!("{name} is here a second time, with another value"));
            }
        }
    }

    /// A child that comes once.
    pub(super) fn child(&mut self, parent: usize, tag: Tag) -> Slot {
        let tree = self.tree;
        let mut slot = None;
        for (_, node) in tree.children(parent).filter(|(_, node)| node.tag == tag) {
            self.put(&mut slot, node);
        }
        slot
    }

    /// The date in a slot; `None` where there is none, or zeros. What is no date is an error.
    pub(super) fn date(&mut self, slot: Slot) -> Result<Option<NaiveDate>, Told> {
        let Some(node) = slot else { return Ok(None) };
        date::read(&self.value(&node)).map_err(|no_date| {
            self.error(node.tag.name(), node.value_at(), format!("{}: {no_date}", node.tag.name()));
            Told
        })
    }

    /// Line and column of an offset.
    pub(super) fn place(&mut self, at: usize) -> (u32, u32) {
        self.places.of(at)
    }

    /// Line of an offset.
    pub(super) fn line(&mut self, at: usize) -> u32 {
        self.place(at).0
    }

    /// Something that refuses the file.
    pub(super) fn error(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.take(Found::error(code, at, message));
    }

    /// Something that a careful person would look at.
    pub(super) fn warning(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.take(Found { severity: Severity::Warning, code, at, message: message.into() });
    }

    /// Something to know.
    pub(super) fn info(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.take(Found { severity: Severity::Info, code, at, message: message.into() });
    }

    fn take(&mut self, found: Found) {
        let located = located(found, self.places);
        self.found.push(located);
    }
}

/// A finding with its line and column.
pub(super) fn located(found: Found, places: &mut Places<'_>) -> Diagnostic {
    let (line, column) = places.of(found.at);
    Diagnostic::new(found.severity, found.code, found.message).at(line, column)
}
