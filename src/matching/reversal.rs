//! Entries of the books and the entries that void them: one account, sum zero, both leave together.

use std::collections::BTreeMap;

use super::board::{Board, rank_from};
use super::{Rule, Side};

/// The pass. A void that is itself voided does not count: of entry, void and void of the void, the last two cancel, and
/// the entry stands. Two voids of one entry are a tie.
pub(super) fn voided_entries(board: &mut Board<'_>) {
    let Voids { target, mut by } = voids(board);
    // From the ends of chains inward: a void that nobody voids, and that alone voids its entry.
    let mut ends: Vec<u32> = target.keys().copied().filter(|void| !by.contains_key(void)).collect();
    while let Some(void) = ends.pop() {
        let Some(entry) = target.get(&void).copied() else { continue };
        if by.get(&entry).is_none_or(|voids| voids.as_slice() != [void]) {
            continue;
        }
        board.cancel(entry, void);
        by.remove(&entry);
        // What the entry voided stands again; unless other voids of it remain, nothing is an end because of that.
        let Some(before) = target.get(&entry) else { continue };
        let Some(voids) = by.get_mut(before) else { continue };
        voids.retain(|void| *void != entry);
        let (count, last) = (voids.len(), voids.first().copied());
        match last {
            None => {
                by.remove(before);
                ends.push(*before);
            }
            Some(only) if count == 1 && !by.contains_key(&only) => ends.push(only),
            Some(_) => {}
        }
    }
    // What is left among them is a pair that void each other, or a tie.
    for (entry, voids) in &by {
        if let [void] = voids.as_slice()
            && by.get(void).is_some_and(|back| back.as_slice() == [*entry])
        {
            if entry < void {
                board.cancel(*entry, *void);
            }
            continue;
        }
        board.tie(Side::Book, *entry, voids[0], rank_from(voids.len()), Rule::Reversal);
        for void in voids {
            board.tie(Side::Book, *void, *entry, 1, Rule::Reversal);
        }
    }
    if !board.voided.is_empty() {
        let mut references = std::mem::take(&mut board.references);
        references.retain(|key| !board.is_consumed(key.line()));
        board.references = references;
    }
}

/// Which entry each void voids, and which voids each entry has (as ranks, in order): those that sum to zero.
struct Voids {
    target: BTreeMap<u32, u32>,
    by: BTreeMap<u32, Vec<u32>>,
}

fn voids(board: &Board<'_>) -> Voids {
    let book = &board.book;
    let mut wanted: BTreeMap<&str, Option<u32>> = BTreeMap::new();
    for void in &book.voids {
        if let Some(id) = &book.line(*void).reverses {
            wanted.insert(id, None);
        }
    }
    let mut voids = Voids { target: BTreeMap::new(), by: BTreeMap::new() };
    if wanted.is_empty() {
        return voids;
    }
    for rank in 0..book.len() {
        if let Some(found) = wanted.get_mut(book.line(rank).id.as_str()) {
            found.get_or_insert(rank);
        }
    }
    for void in book.voids.iter().copied() {
        let Some(Some(entry)) = book.line(void).reverses.as_deref().and_then(|id| wanted.get(id)) else { continue };
        let zero = book.minor[void as usize].checked_add(book.minor[*entry as usize]) == Some(0);
        if zero && void != *entry {
            voids.target.insert(void, *entry);
            voids.by.entry(*entry).or_default().push(void);
        }
    }
    voids
}
