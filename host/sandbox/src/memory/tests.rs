//! Whatever a guest has done, the next one finds what the first one found.

use std::fs::File;
use std::io::Read;

use proptest::prelude::*;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::pagemap::Pagemap;
use super::{Image, Memories};

const WASM_PAGE: usize = 64 << 10;
const RESERVED: usize = 4 << 30;
const GUARD: usize = 1 << 20;

fn image(pages: usize, length: usize) -> Image {
    let bytes = (0..length).map(|index| (index * 31 + index / 4096) as u8).collect();
    Image { bytes, minimum: pages as u64, maximum: None }
}

fn make(memories: &Memories, pages: u64) -> Box<dyn LinearMemory> {
    let ty = MemoryType::new(u32::try_from(pages).unwrap(), None);
    let minimum = pages as usize * WASM_PAGE;
    memories.new_memory(ty, minimum, None, Some(RESERVED), GUARD).unwrap()
}

fn bytes(memory: &mut dyn LinearMemory) -> &mut [u8] {
    // SAFETY: so many bytes are accessible, and the borrow keeps others out.
    unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), memory.byte_size()) }
}

fn is_new(memory: &mut dyn LinearMemory, image: &Image) -> bool {
    let bytes = bytes(memory);
    let (start, rest) = bytes.split_at(image.bytes.len());
    bytes.len() == image.minimum as usize * WASM_PAGE
        && start == image.bytes
        && rest.iter().all(|byte| *byte == 0)
}

/// Bytes of the memory that are the process's own, where the kernel tells.
fn owned(memory: &dyn LinearMemory) -> Option<usize> {
    let start = memory.as_ptr().addr();
    let ranges = Pagemap::open()?.owned(start..start + memory.byte_size()).ok()?;
    Some(ranges.iter().map(ExactSizeIterator::len).sum())
}

/// Whether the kernel lets this process access the address.
fn is_accessible(address: usize) -> bool {
    let mut maps = String::new();
    File::open("/proc/self/maps").unwrap().read_to_string(&mut maps).unwrap();
    maps.lines().any(|line| {
        let (range, rest) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (start..end).contains(&address) && !rest.starts_with("---")
    })
}

/// What one guest does: bytes it writes, and pages it grows by in between.
fn guests() -> impl Strategy<Value = Vec<(Vec<(u32, u8)>, usize)>> {
    let writes = prop::collection::vec((any::<u32>(), any::<u8>()), 0..300);
    prop::collection::vec((writes, 0..40_usize), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_memory_is_new_whatever_earlier_guests_did(
        guests in guests(), length in 0..20 * WASM_PAGE, by_scan in any::<bool>(),
    ) {
        let image = image(20, length);
        let pagemap = if by_scan { Pagemap::open() } else { None };
        let memories = Memories::with_pagemap(&image, pagemap).unwrap();
        for (writes, growth) in guests {
            let mut memory = make(&memories, 20);
            prop_assert!(is_new(&mut *memory, &image));
            memory.grow_to((20 + growth) * WASM_PAGE).unwrap();
            let bytes = bytes(&mut *memory);
            prop_assert!(bytes[20 * WASM_PAGE..].iter().all(|byte| *byte == 0));
            for (place, byte) in writes {
                bytes[place as usize % bytes.len()] = byte;
            }
        }
        prop_assert!(is_new(&mut *make(&memories, 20), &image));
    }
}

/// Every second page written to, so that no two ranges join; few and many.
#[test]
fn any_number_of_scattered_pages_is_restored_in_place() {
    let image = image(200, 150 * WASM_PAGE);
    let memories = Memories::new(&image).unwrap();
    let first = make(&memories, 200).as_ptr();
    for pages in [1, 511, 512, 513, 1023, 1024, 1025, 1500] {
        let mut memory = make(&memories, 200);
        for page in 0..pages {
            bytes(&mut *memory)[page * 8192 + page % 4096] ^= 0xff;
        }
        assert!(!is_new(&mut *memory, &image));
        drop(memory);
        let mut memory = make(&memories, 200);
        assert_eq!(memory.as_ptr(), first);
        assert!(owned(&*memory).is_none_or(|bytes| bytes >= pages * 4096), "{pages}");
        assert!(is_new(&mut *memory, &image), "{pages}");
    }
}

#[test]
fn more_than_is_kept_is_given_back_and_new() {
    let image = image(600, 500 * WASM_PAGE);
    for pagemap in [Pagemap::open(), None] {
        let memories = Memories::with_pagemap(&image, pagemap).unwrap();
        let mut memory = make(&memories, 600);
        memory.grow_to(800 * WASM_PAGE).unwrap();
        bytes(&mut *memory).fill(0x5a);
        drop(memory);
        let mut memory = make(&memories, 600);
        assert!(is_new(&mut *memory, &image));
        memory.grow_to(800 * WASM_PAGE).unwrap();
        assert!(bytes(&mut *memory)[600 * WASM_PAGE..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn pages_that_are_no_longer_used_are_given_back() {
    let image = image(20, 10 * WASM_PAGE);
    let memories = Memories::new(&image).unwrap();
    bytes(&mut *make(&memories, 20)).fill(1);
    for _ in 0..20 {
        bytes(&mut *make(&memories, 20))[5] ^= 1;
    }
    assert!(owned(&*make(&memories, 20)).is_none_or(|bytes| bytes <= WASM_PAGE));
    assert!(is_new(&mut *make(&memories, 20), &image));
}

#[test]
fn what_lies_beyond_the_size_cannot_be_accessed() {
    let image = image(2, 100);
    let memories = Memories::new(&image).unwrap();
    for _ in 0..3 {
        let mut memory = make(&memories, 2);
        let start = memory.as_ptr().addr();
        assert!(is_accessible(start) && is_accessible(start + 2 * WASM_PAGE - 1));
        assert!(!is_accessible(start - 1) && !is_accessible(start + 2 * WASM_PAGE));
        memory.grow_to(5 * WASM_PAGE).unwrap();
        bytes(&mut *memory).fill(7);
        assert!(is_accessible(start + 5 * WASM_PAGE - 1));
        assert!(!is_accessible(start + 5 * WASM_PAGE));
        assert!(!is_accessible(start + RESERVED + GUARD - 1));
        assert!(memory.grow_to(RESERVED + WASM_PAGE).is_err());
    }
}

#[test]
fn two_memories_at_a_time_share_nothing() {
    let image = image(2, 100);
    let memories = Memories::new(&image).unwrap();
    let [mut first, mut second] = [make(&memories, 2), make(&memories, 2)];
    bytes(&mut *first).fill(1);
    assert!(is_new(&mut *second, &image));
    bytes(&mut *second).fill(2);
    assert!(bytes(&mut *first).iter().all(|byte| *byte == 1));
    drop(first);
    drop(second);
    let [mut first, mut second] = [make(&memories, 2), make(&memories, 2)];
    assert!(is_new(&mut *first, &image) && is_new(&mut *second, &image));
}

#[test]
fn another_memory_of_the_component_begins_with_zeros() {
    let memories = Memories::new(&image(2, 100)).unwrap();
    for _ in 0..2 {
        let mut other = make(&memories, 3);
        assert_eq!(other.byte_size(), 3 * WASM_PAGE);
        assert!(bytes(&mut *other).iter().all(|byte| *byte == 0));
        bytes(&mut *other).fill(9);
    }
    assert_eq!(make(&memories, 0).byte_size(), 0);
}

#[test]
fn a_memory_that_cannot_be_made_new_is_never_handed_out() {
    let image = image(4, 2 * WASM_PAGE);
    // Without the page table everything is given back, which locked pages are not.
    let memories = Memories::with_pagemap(&image, None).unwrap();
    let mut memory = make(&memories, 4);
    bytes(&mut *memory).fill(3);
    // SAFETY: the addresses are the memory's own.
    unsafe { rustix::mm::mlock(memory.as_ptr().cast(), 4096) }.unwrap();
    drop(memory);
    assert!(is_new(&mut *make(&memories, 4), &image));
}
