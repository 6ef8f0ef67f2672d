//! What befalls an answer on its way, by seed: the same seed gives the same faults for the same calls.

use crate::hostile::random::Random;

/// What befalls one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// Nothing.
    None,
    /// It comes so many milliseconds late.
    Delay(u64),
    /// The request is lost on its way.
    LostBefore,
    /// The request arrives, its answer is lost.
    LostAfter,
    /// So many hundredths of the answer arrive.
    Cut(u64),
    /// The request arrives twice.
    Twice,
    /// The answer comes in pieces of so many bytes.
    Pieces(u64),
    /// Nothing comes for so many milliseconds, then the connection ends.
    Stall(u64),
}

/// Seed and rates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dice {
    /// Any number.
    pub seed: u64,
    /// How many of a hundred answers something befalls.
    pub rate: u64,
    /// The longest stall, in milliseconds.
    pub stall_ms: u64,
    /// Whether a request that changes something may arrive twice.
    pub repeats: bool,
}

impl Dice {
    /// What befalls the `nth` answer of this operation.
    #[must_use]
    pub fn cast(&self, route: &str, nth: u64) -> Mishap {
        let mut random = self.random(route, nth);
        if random.between(1, 100) > self.rate {
            return Mishap::None;
        }
        let is_safe = route.starts_with("GET ");
        match random.between(0, 6) {
            0 => Mishap::Delay(random.between(1, 400)),
            1 => Mishap::LostBefore,
            2 => Mishap::LostAfter,
            3 => Mishap::Cut(random.between(1, 99)),
            4 if is_safe || self.repeats => Mishap::Twice,
            4 | 5 => Mishap::Pieces(random.between(1, 40)),
            _ => Mishap::Stall(random.between(1, self.stall_ms.max(1))),
        }
    }

    /// After how many bytes the `nth` stream of events is cut; `None`: never.
    #[must_use]
    pub fn cut_of_events(&self, nth: u64) -> Option<u64> {
        let mut random = self.random("GET /event", nth);
        (random.between(1, 100) <= self.rate.saturating_mul(2)).then(|| random.between(1, 6000))
    }

    fn random(&self, route: &str, nth: u64) -> Random {
        // FNV-1a, so that neighbours in name or number have nothing in common.
        let bytes = route.bytes().chain(nth.to_le_bytes()).chain(self.seed.to_le_bytes());
        Random::new(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_mishaps_again_and_another_seed_others() {
        let dice = |seed| Dice { seed, rate: 50, stall_ms: 100, repeats: false };
        let cast = |seed| (0..60).map(|nth| dice(seed).cast("GET /x", nth)).collect::<Vec<_>>();
        assert_eq!(cast(1), cast(1));
        assert_ne!(cast(1), cast(2));
        let all: Vec<_> = (0..20).flat_map(cast).collect();
        let is_there = |is: fn(&Mishap) -> bool| all.iter().any(is);
        assert!(is_there(|one| *one == Mishap::Twice) && is_there(|one| *one == Mishap::LostAfter));
        assert!(is_there(|one| matches!(one, Mishap::Cut(_) | Mishap::Stall(_))));
        let posts = (0..500).map(|nth| dice(7).cast("POST /x", nth));
        assert!(posts.into_iter().all(|one| one != Mishap::Twice));
    }
}
