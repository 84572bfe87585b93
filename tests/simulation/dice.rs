//! Chance from a seed (splitmix64): the same seed, the same misfortunes. It is not the elector's own.

/// Nanoseconds of the world's own time.
pub(crate) type Nanos = u64;

/// So many milliseconds.
pub(crate) const fn ms(millis: u64) -> Nanos {
    millis * 1_000_000
}

/// So many seconds.
pub(crate) const fn secs(seconds: u64) -> Nanos {
    ms(seconds * 1000)
}

/// A stream of chance.
#[derive(Debug)]
pub(crate) struct Dice(u64);

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in 0 … `end` − 1; 0 if there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Whether something that happens so many times in a thousand happens now.
    pub(crate) fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.below(1000) < in_a_thousand
    }

    /// One of so many.
    pub(crate) fn pick(&mut self, of: usize) -> usize {
        usize::try_from(self.below(of as u64)).expect("below a usize")
    }
}
