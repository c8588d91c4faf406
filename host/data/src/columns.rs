//! The fields of a Parquet file's rows: how its columns go together.
//!
//! A field is a value, a structure, a list or a map, and each lies in one or more
//! columns. A column's values come with two levels each: how much of the path down to
//! the value is there, and which of the lists on that path goes on.

use std::ops::Range;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::Type;

use super::logical::Kind;

/// Fields within fields beyond that are left out.
const MOST_DEPTH: usize = 32;

/// The fields that rows are read for.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The fields of a row.
    pub fields: Vec<Field>,
    /// The columns under them, in the order of the fields.
    pub leaves: Vec<Leaf>,
}

/// One column.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Its place among the file's columns.
    pub index: usize,
    /// What its values are.
    pub kind: Kind,
    /// The definition level of a value that is there.
    pub definition: i16,
    /// How many lists are around it.
    pub repetition: i16,
}

/// One field, at any depth.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name.
    pub name: String,
    /// The definition level from which on it is there.
    pub definition: i16,
    /// How many lists are around what is in it.
    pub repetition: i16,
    /// Whether it may be missing, or be there several times.
    pub occurs: Repetition,
    /// What it is.
    pub shape: Shape,
    /// Its columns, among the leaves.
    pub leaves: Range<usize>,
}

/// What a field is.
#[derive(Debug)]
pub(super) enum Shape {
    /// A value.
    Value,
    /// A structure.
    Group(Vec<Field>),
    /// What only makes a list or is the only thing in it, and has no name in the row.
    Only(Box<Field>),
    /// Keys and values, repeated.
    Map(Box<Field>),
}

impl Columns {
    /// The fields of these names, whatever their case.
    pub fn of(schema: &Type, names: &[&str]) -> Self {
        let mut walk = Walk { leaves: Vec::new(), next: 0 };
        let mut fields = Vec::new();
        for node in schema.get_fields() {
            let wanted = names.iter().any(|name| node.name().eq_ignore_ascii_case(name));
            let depth = if wanted { 0 } else { MOST_DEPTH };
            fields.extend(walk.field(node, Levels { definition: 0, repetition: 0, depth }));
        }
        Columns { fields, leaves: walk.leaves }
    }
}

#[derive(Clone, Copy)]
struct Levels {
    definition: i16,
    repetition: i16,
    depth: usize,
}

struct Walk {
    leaves: Vec<Leaf>,
    next: usize,
}

impl Walk {
    /// The field of a node; none if it has no column that is read.
    fn field(&mut self, node: &Type, above: Levels) -> Option<Field> {
        let occurs = node.get_basic_info().repetition();
        let levels = Levels {
            definition: above.definition + i16::from(occurs != Repetition::REQUIRED),
            repetition: above.repetition + i16::from(occurs == Repetition::REPEATED),
            depth: above.depth + 1,
        };
        let begin = self.leaves.len();
        let shape = match node {
            Type::PrimitiveType { .. } => self.leaf(node, levels).then_some(Shape::Value),
            Type::GroupType { fields, .. } => match fields.as_slice() {
                [only] if is_repeated(only) => self.repeated(node, only, levels),
                _ => {
                    let parts = fields.iter().filter_map(|part| self.field(part, levels));
                    let parts: Vec<Field> = parts.collect();
                    (!parts.is_empty()).then_some(Shape::Group(parts))
                }
            },
        }?;
        let Levels { definition, repetition, .. } = levels;
        let leaves = begin..self.leaves.len();
        Some(Field { name: node.name().to_owned(), definition, repetition, occurs, shape, leaves })
    }

    /// Counts the column, and notes it if it is read.
    fn leaf(&mut self, node: &Type, levels: Levels) -> bool {
        let index = self.next;
        self.next += 1;
        if levels.depth > MOST_DEPTH {
            return false;
        }
        let Levels { definition, repetition, .. } = levels;
        self.leaves.push(Leaf { index, kind: Kind::of(node), definition, repetition });
        true
    }

    /// A group with nothing in it but what is repeated: a list or a map.
    fn repeated(&mut self, group: &Type, inner: &Type, levels: Levels) -> Option<Shape> {
        let mut field = self.field(inner, levels)?;
        let parts = match &field.shape {
            Shape::Group(parts) => parts.len(),
            _ => 0,
        };
        if is_map(group) && parts == 2 {
            return Some(Shape::Map(Box::new(field)));
        }
        if parts == 1
            && !is_element(group, inner)
            && let Shape::Group(mut parts) = field.shape
        {
            field.shape = Shape::Only(Box::new(parts.remove(0)));
        }
        Some(Shape::Only(Box::new(field)))
    }
}

fn is_repeated(node: &Type) -> bool {
    node.get_basic_info().has_repetition()
        && node.get_basic_info().repetition() == Repetition::REPEATED
}

fn is_map(group: &Type) -> bool {
    let info = group.get_basic_info();
    matches!(info.logical_type_ref(), Some(LogicalType::Map))
        || matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
}

/// Whether a repeated group of one field is an element itself, as old writers name it, and not
/// what a list is made with.
fn is_element(group: &Type, inner: &Type) -> bool {
    inner.name() == "array" || inner.name() == format!("{}_tuple", group.name())
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn shown(field: &Field) -> String {
        let mark = match field.occurs {
            Repetition::REPEATED => "*",
            Repetition::OPTIONAL => "?",
            Repetition::REQUIRED => "",
        };
        let inside = match &field.shape {
            Shape::Value => String::new(),
            Shape::Group(parts) => {
                format!("{{{}}}", parts.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
            Shape::Only(inner) => format!("({})", shown(inner)),
            Shape::Map(inner) => format!("map({})", shown(inner)),
        };
        format!("{}{mark}{inside}", field.name)
    }

    #[test]
    fn lists_maps_and_structures_are_told_apart_however_they_are_written() {
        for (field, expected) in [
            ("required int64 id;", "id"),
            ("repeated binary plain (UTF8);", "plain*"),
            (
                "optional group l (LIST) { repeated group list { optional binary element; } }",
                "l?(list*(element?))",
            ),
            ("optional group l (LIST) { repeated binary array; }", "l?(array*)"),
            (
                "optional group l (LIST) { repeated group array { optional binary a; } }",
                "l?(array*{a?})",
            ),
            (
                "optional group l (LIST) { repeated group l_tuple { optional binary a; } }",
                "l?(l_tuple*{a?})",
            ),
            (
                "optional group l (LIST) { repeated group list { optional group element { optional binary a; optional int32 n; } } }",
                "l?(list*(element?{a? n?}))",
            ),
            (
                "optional group l (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional int32 element; } } } }",
                "l?(list*(element?(list*(element?))))",
            ),
            (
                "optional group m (MAP) { repeated group key_value { required binary key; optional int32 value; } }",
                "m?map(key_value*{key value?})",
            ),
            (
                "optional group m (MAP) { repeated group map (MAP_KEY_VALUE) { required binary key; optional int32 value; } }",
                "m?map(map*{key value?})",
            ),
        ] {
            let schema = parse_message_type(&format!("message m {{ {field} }}")).unwrap();
            let columns = Columns::of(&schema, &["ID", "plain", "l", "m"]);
            assert_eq!(shown(&columns.fields[0]), expected, "{field}");
        }
    }

    #[test]
    fn what_is_not_asked_for_and_what_lies_too_deep_is_left_out() {
        let deep = "optional group g { optional int32 z; ".repeat(40) + &"}".repeat(40);
        let text = format!("message m {{ optional binary other; {deep} optional int32 id; }}");
        let schema = parse_message_type(&text).unwrap();
        let columns = Columns::of(&schema, &["id", "g"]);
        assert_eq!(columns.leaves.last().map(|leaf| leaf.index), Some(41));
        assert!(columns.leaves.len() < 35, "{}", columns.leaves.len());
    }
}
