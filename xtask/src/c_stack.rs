//! The C stack of CPython in a component, made larger.
//!
//! The tool links CPython with a stack of 1 MiB, which a recursion that passes through C (`max` of
//! a generator that recurses, say) fills some 2,000 levels deep; on Linux there are 8 MiB. Nothing
//! is on the stack in a snapshot. So the component gets more memory, the stack pointer starts at
//! its end, and CPython is told the new bounds, which it looked up when it started.
//!
//! Only numbers change, and each takes as many bytes as before, so nothing moves.

use anyhow::{Context, Result, bail, ensure};
use wasmparser::{BinaryReader, ExternalKind, Operator, Parser, Payload};

/// The usual size of the new stack.
pub const BYTES: u32 = 6 << 20;
const PAGE: u32 = 64 << 10;
/// The old one's, and where CPython stops a recursion on it: softly, and in any case.
const BEFORE: [u32; 3] = [1 << 20, 16 << 10, 8 << 10];
/// What is left of the new one when a recursion is stopped softly, and in any case.
const LEFT: [u32; 2] = [64 << 10, 32 << 10];

/// Where the numbers are, in the module that holds the memory's contents.
struct Places {
    /// Of the memory's first size, in pages, and that number.
    pages: (usize, u32),
    /// Of where the stack pointer begins.
    pointer: usize,
    data: std::ops::Range<usize>,
}

/// Moves the stack of the component to memory of its own, so many bytes in whole pages.
pub fn enlarge(component: &mut [u8], size: u32) -> Result<()> {
    let places = find(component)?.context("the component has no memory with contents")?;
    let (at, pages) = places.pages;
    let base = pages * PAGE;
    let top = base + size;
    overwrite(component, at, pages + size / PAGE)?;
    overwrite(component, places.pointer, top)?;
    let bounds = bytes(BEFORE);
    let data = &mut component[places.data];
    let mut found = (0..data.len()).filter(|&at| data[at..].starts_with(&bounds));
    let (Some(at), None) = (found.next(), found.next()) else {
        bail!("CPython's bounds of its stack are not where they were; look at `c_stack.rs`");
    };
    data[at..at + bounds.len()].copy_from_slice(&bytes([top, base + LEFT[0], base + LEFT[1]]));
    Ok(())
}

fn bytes(numbers: [u32; 3]) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Looks for the core module with a memory, a `__stack_pointer` of its own and the most data.
fn find(component: &[u8]) -> Result<Option<Places>> {
    let mut best: Option<Places> = None;
    let (mut pages, mut globals, mut pointer) = (None, Vec::new(), None);
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::Version { .. } => (pages, globals, pointer) = (None, Vec::new(), None),
            Payload::MemorySection(memories) => {
                for memory in memories.into_iter_with_offsets() {
                    let (at, memory) = memory?;
                    // Behind a byte of flags.
                    pages = Some((at + 1, u32::try_from(memory.initial)?));
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let mut operators = global?.init_expr.get_operators_reader();
                    // Behind the byte of the instruction.
                    let at = operators.original_position() + 1;
                    let constant = matches!(operators.read()?, Operator::I32Const { .. });
                    globals.push(constant.then_some(at));
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.name == "__stack_pointer" && export.kind == ExternalKind::Global {
                        pointer = globals.get(export.index as usize).copied().flatten();
                    }
                }
            }
            Payload::DataSection(section) => {
                let data = section.range();
                let larger = best.as_ref().is_none_or(|best| best.data.len() < data.len());
                if let (Some(pages), Some(pointer), true) = (pages, pointer, larger) {
                    best = Some(Places { pages, pointer, data });
                }
            }
            _ => {}
        }
    }
    Ok(best)
}

/// Writes a number in as many bytes as the one that is there has, seven bits in each.
fn overwrite(component: &mut [u8], at: usize, mut number: u32) -> Result<()> {
    let mut reader = BinaryReader::new(&component[at..], 0);
    reader.read_var_u64()?;
    let length = reader.original_position();
    // The last bit may be a sign.
    ensure!(number >> (7 * length - 1) == 0, "{number} takes more than {length} bytes");
    for (place, byte) in component[at..at + length].iter_mut().enumerate() {
        let more = if place + 1 < length { 0x80 } else { 0 };
        *byte = (number & 0x7f) as u8 | more;
        number >>= 7;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core module as the tool makes it, in little: 543 pages, the stack pointer at 1 MiB, and
    /// CPython's bounds.
    fn module(bounds: usize) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let mut section = |number: u8, payload: &[u8]| {
            module.extend([number, payload.len() as u8]);
            module.extend(payload);
        };
        section(5, b"\x01\0\x9f\x04");
        section(6, b"\x01\x7f\x01\x41\x80\x80\xc0\0\x0b");
        section(7, b"\x01\x0f__stack_pointer\x03\0");
        let mut data = b"\x01\0\x41\x08\x0b".to_vec();
        data.push((bounds * 12) as u8);
        data.extend(bytes(BEFORE).repeat(bounds));
        section(11, &data);
        module
    }

    #[test]
    fn the_stack_is_behind_what_was_memory_and_nothing_else_changes() {
        let before = module(1);
        let mut after = before.clone();
        enlarge(&mut after, BYTES).unwrap();
        assert_eq!(after.len(), before.len());
        let (base, top) = (543 * PAGE, 543 * PAGE + BYTES);
        let places = find(&after).unwrap().unwrap();
        assert_eq!(places.pages.1, 543 + 96);
        assert!(after.ends_with(&bytes([top, base + (64 << 10), base + (32 << 10)])));
        let mut pointer = BinaryReader::new(&after[places.pointer..], 0);
        assert_eq!(pointer.read_var_i32().unwrap(), top as i32);
    }

    #[test]
    fn a_component_without_just_one_set_of_bounds_is_refused() {
        assert!(enlarge(&mut module(0), BYTES).is_err());
        assert!(enlarge(&mut module(2), BYTES).is_err());
        assert!(enlarge(&mut b"\0asm\x01\0\0\0".to_vec(), BYTES).is_err());
    }
}
