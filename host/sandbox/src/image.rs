//! What an interpreter's memory holds before its first instruction, lifted out
//! of its component. A memory that starts as this image by itself, rather than
//! by being written to, can be made ready for the next run cheaply.

use std::ops::Range;

use wasmparser::{
    BinaryReader, DataKind, DataSectionReader, ImportSectionReader, MemorySectionReader,
    MemoryType, Operator, TypeRef,
};

/// Bytes of the magic number, version and layer before the first section.
const HEADER_BYTES: usize = 8;
/// Components within components; deeper ones are left as they are.
const DEPTH: usize = 8;
const WASM_PAGE_BYTES: u64 = 64 << 10;
/// The longest image; one byte at a high address should not fill memory with zeros.
const IMAGE_BYTES: u64 = 256 << 20;

/// Numbers of sections, first of a component and then of a core module.
const CORE_MODULE: u8 = 1;
const COMPONENT: u8 = 4;
const IMPORTS: u8 = 2;
const MEMORIES: u8 = 5;
const DATA: u8 = 11;
const DATA_COUNT: u8 = 12;

/// The initial contents of one memory, and how the memory is recognized.
pub(super) struct Image {
    /// From address zero; zeros follow.
    pub(super) bytes: Vec<u8>,
    /// Of the memory it belongs to, in WebAssembly pages. No other memory of
    /// the component has the same two.
    pub(super) minimum: u64,
    pub(super) maximum: Option<u64>,
}

/// A component that relies on its memory beginning as the image.
pub(super) struct Lifted {
    pub(super) component: Vec<u8>,
    pub(super) image: Image,
}

/// Takes the largest initial contents out of a component. `None` if they are
/// not plain bytes at constant addresses, or the component may ask for them again.
pub(super) fn lift(component: &[u8]) -> Option<Lifted> {
    let mut modules = Vec::new();
    find_modules(component, 0..component.len(), DEPTH, &mut modules)?;
    let shapes =
        modules.iter().map(|module| Shape::of(component, module)).collect::<Option<Vec<_>>>()?;
    let data_length = |shape: &Shape| shape.data.as_ref().map_or(0, |data| data.payload.len());
    let (module, shape) =
        modules.iter().zip(&shapes).max_by_key(|(_, shape)| data_length(shape))?;
    let memory = shape.liftable()?;
    let data = shape.data.as_ref()?;
    let like = shapes
        .iter()
        .flat_map(|shape| &shape.memories)
        .filter(|other| (other.initial, other.maximum) == (memory.initial, memory.maximum));
    if like.count() != 1 {
        return None;
    }
    let limit = memory.initial.checked_mul(WASM_PAGE_BYTES)?.min(IMAGE_BYTES);
    let bytes = contents(&component[data.payload.clone()], limit)?;
    let image = Image { bytes, minimum: memory.initial, maximum: memory.maximum };
    let mut rewritten = Vec::with_capacity(component.len() - data.whole.len());
    copy_without(component, 0..component.len(), module, &data.whole, &mut rewritten)?;
    Some(Lifted { component: rewritten, image })
}

/// A section and what it holds, as ranges of the whole component.
struct Section {
    number: u8,
    whole: Range<usize>,
    payload: Range<usize>,
}

fn sections(bytes: &[u8], of: Range<usize>) -> Option<Vec<Section>> {
    let first = of.start.checked_add(HEADER_BYTES)?;
    let mut reader = BinaryReader::new(bytes.get(first..of.end)?, first);
    let mut sections = Vec::new();
    while !reader.eof() {
        let start = reader.original_position();
        let number = reader.read_u8().ok()?;
        let length = reader.read_var_u32().ok()?;
        let payload = reader.original_position()..reader.original_position() + length as usize;
        reader.read_bytes(length as usize).ok()?;
        sections.push(Section { number, whole: start..payload.end, payload });
    }
    Some(sections)
}

fn find_modules(
    bytes: &[u8],
    within: Range<usize>,
    depth: usize,
    modules: &mut Vec<Range<usize>>,
) -> Option<()> {
    for section in sections(bytes, within)? {
        match section.number {
            CORE_MODULE => modules.push(section.payload),
            COMPONENT => find_modules(bytes, section.payload, depth.checked_sub(1)?, modules)?,
            _ => {}
        }
    }
    Some(())
}

/// The parts of a core module that matter here.
struct Shape {
    memories: Vec<MemoryType>,
    imports_memory: bool,
    counts_data: bool,
    data: Option<Section>,
}

impl Shape {
    fn of(bytes: &[u8], module: &Range<usize>) -> Option<Shape> {
        let mut shape =
            Shape { memories: Vec::new(), imports_memory: false, counts_data: false, data: None };
        for section in sections(bytes, module.clone())? {
            let reader = BinaryReader::new(&bytes[section.payload.clone()], 0);
            match section.number {
                IMPORTS => {
                    for import in ImportSectionReader::new(reader).ok()?.into_imports() {
                        shape.imports_memory |= matches!(import.ok()?.ty, TypeRef::Memory(_));
                    }
                }
                MEMORIES => {
                    let memories = MemorySectionReader::new(reader).ok()?;
                    shape.memories = memories.into_iter().collect::<Result<_, _>>().ok()?;
                }
                // A second one is an error, which compiling will name.
                DATA if shape.data.is_some() => return None,
                DATA => shape.data = Some(section),
                DATA_COUNT => shape.counts_data = true,
                _ => {}
            }
        }
        Some(shape)
    }

    /// The module's only memory, if its data go there and nowhere else. Without
    /// a count of them, no instruction can refer to data.
    fn liftable(&self) -> Option<&MemoryType> {
        let [memory] = &*self.memories else { return None };
        let plain = !memory.memory64 && !memory.shared && memory.page_size_log2.is_none();
        (plain && !self.imports_memory && !self.counts_data).then_some(memory)
    }
}

/// The bytes that a data section leaves in a memory, if they end before the limit.
fn contents(section: &[u8], limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for segment in DataSectionReader::new(BinaryReader::new(section, 0)).ok()? {
        let segment = segment.ok()?;
        let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else { return None };
        let mut operators = offset_expr.get_operators_reader();
        let Ok(Operator::I32Const { value }) = operators.read() else { return None };
        let Ok(Operator::End) = operators.read() else { return None };
        let start = value.cast_unsigned() as usize;
        let end = start.checked_add(segment.data.len())?;
        if end as u64 > limit {
            return None;
        }
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..end].copy_from_slice(segment.data);
    }
    Some(bytes)
}

/// Copies the component in the range; of the module, all but one section.
fn copy_without(
    bytes: &[u8],
    within: Range<usize>,
    module: &Range<usize>,
    dropped: &Range<usize>,
    copy: &mut Vec<u8>,
) -> Option<()> {
    copy.extend_from_slice(bytes.get(within.start..within.start + HEADER_BYTES)?);
    for Section { number, whole, payload } in sections(bytes, within)? {
        let around = payload.start <= module.start && module.end <= payload.end;
        let mut inner = Vec::new();
        match number {
            CORE_MODULE if payload == *module => {
                inner.extend_from_slice(&bytes[module.start..dropped.start]);
                inner.extend_from_slice(&bytes[dropped.end..module.end]);
            }
            COMPONENT if around => copy_without(bytes, payload, module, dropped, &mut inner)?,
            _ => {
                copy.extend_from_slice(&bytes[whole]);
                continue;
            }
        }
        copy.push(number);
        push_length(u32::try_from(inner.len()).ok()?, copy);
        copy.append(&mut inner);
    }
    Some(())
}

/// Appends a length as WebAssembly writes it, seven bits a byte.
fn push_length(mut length: u32, bytes: &mut Vec<u8>) {
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(text: &str) -> Option<(Vec<u8>, usize)> {
        let component = wat::parse_str(text).unwrap();
        let lifted = lift(&component)?;
        wasmparser::validate(&lifted.component).unwrap();
        Some((lifted.image.bytes, component.len() - lifted.component.len()))
    }

    #[test]
    fn later_data_overwrite_earlier_ones_and_gaps_are_zero() {
        let (image, saved) = lifted(
            r#"(component (core module (memory 1)
                (data (i32.const 2) "abcd") (data (i32.const 4) "X") (data (i32.const 8) "e")))"#,
        )
        .unwrap();
        assert_eq!(image, b"\0\0abXd\0\0e");
        assert!(saved > 9);
    }

    #[test]
    fn data_of_a_component_within_a_component_are_lifted() {
        let nested = r#"(component (component (core module (memory 1 7)
            (data (i32.const 0) "inner"))) (core module (memory 1 8)))"#;
        assert_eq!(lifted(nested).unwrap().0, b"inner");
    }

    #[test]
    fn what_is_not_plain_data_of_one_memory_is_left_alone() {
        for module in [
            r#"(memory 1) (data "passive")"#,
            r#"(memory 1)"#,
            r#"(memory 1) (data (i32.const 65535) "ab")"#,
            r#"(memory i64 1) (data (i64.const 0) "a")"#,
            r#"(memory (import "a" "b") 1) (data (i32.const 0) "a")"#,
            r#"(memory 1) (data (i32.const 0) "a") (func data.drop 0)"#,
            r#"(global i32 (i32.const 1)) (memory 1) (data (global.get 0) "a")"#,
            r#"(memory 1) (memory 1) (data (i32.const 0) "a")"#,
        ] {
            assert!(lifted(&format!("(component (core module {module}))")).is_none(), "{module}");
        }
    }

    #[test]
    fn a_memory_that_could_be_taken_for_another_is_left_alone() {
        let twins = r#"(component (core module (memory 3 4) (data (i32.const 0) "a"))
            (core module (memory 3 4)))"#;
        assert!(lifted(twins).is_none());
    }

    #[test]
    fn bytes_that_are_no_component_are_left_alone() {
        let component =
            wat::parse_str(r#"(component (core module (memory 1) (data (i32.const 0) "a")))"#)
                .unwrap();
        for length in 0..component.len() {
            assert!(lift(&component[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn lengths_are_written_seven_bits_a_byte() {
        for (length, written) in
            [(0, &[0][..]), (127, &[127]), (128, &[128, 1]), (300_000, &[0xe0, 0xa7, 0x12])]
        {
            let mut bytes = Vec::new();
            push_length(length, &mut bytes);
            assert_eq!(bytes, written);
        }
    }
}
