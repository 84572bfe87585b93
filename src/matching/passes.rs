//! The passes, in order. To add one: a file here, and its place in the list.

use super::board::Board;
use super::{reversal, strong, token, window};

/// A pass: offered every line that no earlier one took, it pairs or ties what its evidence allows.
pub(super) type Pass = fn(&mut Board<'_>);

/// Strongest evidence first. Every line is offered to a pass before the next one begins.
pub(super) const ORDER: [Pass; 6] = [
    reversal::voided_entries,
    strong::strong_reference,
    token::unique_tokens,
    token::rare_tokens_with_a_digit,
    token::rare_words,
    window::amount_alone,
];
