//! Reproducible choices.

/// A xorshift64* generator (Vigna 2016): small, seeded, good enough to vary a tree.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.next() >> 33) % (high - low + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_gives_its_own_numbers_again_within_the_bounds() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.between(3, 9)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let drawn = draw(3);
        assert!((3..=9).all(|number| drawn.contains(&number)));
        assert!(drawn.iter().all(|number| (3..=9).contains(number)));
    }
}
