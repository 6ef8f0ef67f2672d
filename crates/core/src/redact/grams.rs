//! A set of three-byte beginnings, and the first place in a text where one of them stands.
//!
//! It answers in one look at each byte. What it finds may be a coincidence of the hash: the caller
//! compares in full.

/// Length of a beginning, in bytes.
pub(super) const GRAM: usize = 3;

const WORDS: usize = 1024;

/// Sets this bit of each byte: letters lose their case, and a few signs fall together.
const FOLDED: u32 = 0x20_20_20;

#[derive(Clone)]
pub(super) struct Grams {
    /// One bit for each value of the hash.
    bits: Box<[u64; WORDS]>,
    /// Which bytes a beginning can have first, and which second.
    leading: Box<[[bool; 256]; 2]>,
    fold: u32,
    empty: bool,
}

impl Grams {
    /// Beginnings of `patterns`; shorter ones are passed over. With `any_case` letters are equal
    /// in either case.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a [u8]>, any_case: bool) -> Self {
        let fold = if any_case { FOLDED } else { 0 };
        let mut grams = Self {
            bits: Box::new([0; WORDS]),
            leading: Box::new([[false; 256]; 2]),
            fold,
            empty: true,
        };
        for pattern in patterns {
            let &[first, second, third, ..] = pattern else { continue };
            let (word, bit) = place(u32::from_be_bytes([0, first, second, third]) | fold);
            grams.bits[word] |= 1 << bit;
            grams.empty = false;
            for (leading, own) in grams.leading.iter_mut().zip([first, second]) {
                let alike = |byte: u8| byte == own || any_case && byte | 0x20 == own | 0x20;
                (0..=u8::MAX).for_each(|byte| leading[usize::from(byte)] |= alike(byte));
            }
        }
        grams
    }

    /// The first place at or after `from` where a beginning may stand.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let (&[first, second], rest) = rest.split_first_chunk::<2>()?;
        if self.empty {
            return None;
        }
        let mut gram = u32::from_be_bytes([0, 0, first, second]);
        for (offset, &byte) in rest.iter().enumerate() {
            gram = (gram << 8 | u32::from(byte)) & 0xff_ff_ff;
            let (word, bit) = place(gram | self.fold);
            if self.bits[word] >> bit & 1 == 1 {
                return Some(from + offset);
            }
        }
        None
    }

    /// Where in the last bytes of `text`, at or after `from`, a beginning may have begun that the
    /// text is too short to show; its length if nowhere.
    pub(super) fn cut_off(&self, text: &[u8], from: usize) -> usize {
        let start = text.len().saturating_sub(GRAM - 1).max(from).min(text.len());
        let begun = |at: &usize| {
            let tail = text[*at..].iter().zip(self.leading.iter());
            tail.into_iter().all(|(byte, leading)| leading[usize::from(*byte)])
        };
        (start..text.len()).find(begun).unwrap_or(text.len())
    }
}

/// Word and bit of a beginning: a multiplicative hash of 16 bits.
fn place(gram: u32) -> (usize, u32) {
    let hash = gram.wrapping_mul(0x9E37_79B1) >> 16;
    ((hash >> 6) as usize % WORDS, hash & 63)
}
