//! The mark that an executable carries if, and only if, something in it calls the entry.
//!
//! Only [`impress`] refers to the mark and only the entry calls that, so the linker drops it from a
//! program without an entry. The scan must not carry the mark itself: it looks for a veiled copy.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of everything that controller and init say to each other.
pub(crate) const VERSION: u32 = 1;

const MAGIC_LEN: usize = 32;
const MARK_LEN: usize = MAGIC_LEN + 4;
const VEIL: u8 = 0x5a;
const CHUNK: usize = 1 << 16;

const fn mark() -> [u8; MARK_LEN] {
    let magic: &[u8; MAGIC_LEN] =
        b"\x7fdcli-contain\xc3entry\x9dmark\x00\xe1\x17\xb8\x04\x6c\xfa\x33";
    let version = VERSION.to_le_bytes();
    let mut all = [0; MARK_LEN];
    let mut at = 0;
    while at < MARK_LEN {
        all[at] = if at < MAGIC_LEN { magic[at] } else { version[at - MAGIC_LEN] };
        at += 1;
    }
    all
}

const fn veiled() -> [u8; MAGIC_LEN] {
    let plain = mark();
    let mut all = [0; MAGIC_LEN];
    let mut at = 0;
    while at < MAGIC_LEN {
        all[at] = plain[at] ^ VEIL;
        at += 1;
    }
    all
}

#[cfg_attr(target_os = "linux", unsafe(link_section = ".dcli.entry"))]
static MARK: [u8; MARK_LEN] = mark();
static VEILED: [u8; MAGIC_LEN] = veiled();
static OFFERED: AtomicBool = AtomicBool::new(false);

/// Notes that this program offers the entry, and keeps the mark in its executable.
pub(crate) fn impress() {
    std::hint::black_box(&raw const MARK);
    OFFERED.store(true, Ordering::Release);
}

/// Whether this program called the entry.
pub(crate) fn is_impressed() -> bool {
    OFFERED.load(Ordering::Acquire)
}

/// The version of the entry that the executable in `reader` offers, if it offers one.
pub(crate) fn find(mut reader: impl Read) -> io::Result<Option<u32>> {
    let veil = std::hint::black_box(VEIL);
    let magic = VEILED.map(|byte| byte ^ veil);
    let mut window = Vec::with_capacity(CHUNK + MARK_LEN);
    loop {
        let read = reader.by_ref().take(CHUNK as u64).read_to_end(&mut window)?;
        if let Some(version) = version_in(&window, &magic) {
            return Ok(Some(version));
        }
        if read == 0 {
            return Ok(None);
        }
        let kept = window.len().min(MARK_LEN - 1);
        window.drain(..window.len() - kept);
    }
}

fn version_in(window: &[u8], magic: &[u8; MAGIC_LEN]) -> Option<u32> {
    let first = magic[0];
    let starts = window.iter().enumerate().filter(|(_, byte)| **byte == first);
    for (at, _) in starts {
        let candidate = window.get(at..at + MARK_LEN)?;
        let (head, version) = candidate.split_at(MAGIC_LEN);
        if head == magic {
            return version.try_into().ok().map(u32::from_le_bytes);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_at_every_offset_around_a_chunk_border() {
        for shift in 0..=MARK_LEN {
            let mut image = vec![0x7f; CHUNK - shift];
            image.extend(mark());
            image.extend([1, 2, 3]);
            assert_eq!(find(&image[..]).unwrap(), Some(VERSION), "shift {shift}");
        }
    }

    #[test]
    fn a_file_without_the_mark_or_with_half_of_it_offers_nothing() {
        let whole = mark();
        assert_eq!(find(&b"\x7fELF and nothing more"[..]).unwrap(), None);
        assert_eq!(find(&whole[..MARK_LEN - 1]).unwrap(), None);
        assert_eq!(find(&veiled()[..]).unwrap(), None);
    }
}
