//! 128-bit fingerprints of short texts: the keys that passes sort instead of strings.
//!
//! Fixed and unkeyed, so that the same texts give the same order everywhere. Of four million different values, two
//! share the 87 bits that are kept with a probability of 10⁻¹³; nobody gains by making a collision, since who can
//! choose a reference can as well write the right one. Not for digests: those are SHA-256.

const P: [u64; 5] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f];

/// The fingerprint of `bytes`, in the space that `seed` names.
pub(super) fn fingerprint(seed: u64, bytes: &[u8]) -> u128 {
    let mut x = mix(seed ^ P[0], P[1]);
    let mut y = mix(seed ^ P[2], P[3]);
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        (x, y) = absorb(x, y, eight(&block[..8]), eight(&block[8..]));
    }
    let rest = blocks.remainder();
    if !rest.is_empty() {
        let (a, b) = padded(rest);
        (x, y) = absorb(x, y, a, b);
    }
    let length = bytes.len() as u64;
    let high = mix(x ^ length, y ^ P[4]);
    let low = mix(y ^ length ^ P[0], x ^ P[2]);
    (u128::from(high) << 64) | u128::from(low)
}

/// One block of sixteen bytes, as two numbers, into both lanes.
fn absorb(x: u64, y: u64, a: u64, b: u64) -> (u64, u64) {
    (mix(a ^ x ^ P[1], b ^ P[4]) ^ y.rotate_left(23), mix(b ^ y ^ P[3], a ^ P[2]) ^ x.rotate_left(41))
}

/// The two numbers of a block of one to fifteen bytes and zeros. Read as two that overlap, of which the second is
/// shifted: no copy of so many bytes.
fn padded(rest: &[u8]) -> (u64, u64) {
    let count = rest.len();
    match count {
        9.. => (eight(&rest[..8]), eight(&rest[count - 8..]) >> (8 * (16 - count))),
        8 => (eight(rest), 0),
        4.. => {
            let last = u64::from(four(&rest[count - 4..])) >> (8 * (8 - count));
            (u64::from(four(&rest[..4])) | last << 32, 0)
        }
        _ => (rest.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)), 0),
    }
}

/// Of eight bytes, the first the least.
fn eight(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Of four bytes, the first the least.
fn four(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// Both halves of the product, folded: every bit of either factor reaches every bit of the result.
#[expect(clippy::cast_possible_truncation, reason = "the two halves of 128 bits, taken apart on purpose")]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn near_texts_have_far_fingerprints() {
        let mut kept = BTreeSet::new();
        for number in 0..200_000_u32 {
            kept.insert(fingerprint(0, number.to_string().as_bytes()) >> 64);
            kept.insert(fingerprint(0, format!("E0041696820261110{number:010}ABCDEF").as_bytes()) >> 64);
        }
        assert_eq!(kept.len(), 400_000);
    }

    #[test]
    fn a_last_block_is_as_if_zeros_followed_it() {
        for count in 1..16 {
            let rest: Vec<u8> = (1..=count).map(|n| n * 16 + 5).collect();
            let mut block = [0; 16];
            block[..rest.len()].copy_from_slice(&rest);
            assert_eq!(padded(&rest), (eight(&block[..8]), eight(&block[8..])), "{count}");
        }
    }

    #[test]
    fn every_bit_of_the_text_and_the_seed_counts() {
        let text = *b"E00416968202611101230aBcDeFgHiJk-1";
        let whole = fingerprint(3, &text);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut other = text;
                other[at] ^= 1 << bit;
                let changed = (fingerprint(3, &other) ^ whole).count_ones();
                assert!((30..=98).contains(&changed), "{changed} bits changed");
            }
        }
        assert_ne!(fingerprint(4, &text), whole);
        assert_ne!(fingerprint(3, &text[..33]), whole);
        assert_ne!(fingerprint(3, b"A\0"), fingerprint(3, b"A"));
    }
}
