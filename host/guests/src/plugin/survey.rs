//! A component as it is before it is compiled: what it imports and exports,
//! and whether compiling it will come to an end soon.
//!
//! Compilers take time that grows faster than a function does: with the values
//! that are alive at once, and with branches times locals. So these are
//! bounded, far above what large language runtimes have (in brackets: the
//! largest in our build of CPython). `compilation` bounds what is left.

use wasmparser::{
    FuncValidatorAllocations, FunctionBody, Operator, OperatorsReader, Parser, Payload,
    ValidPayload, Validator, WasmFeatures,
};

/// Functions of all modules together [13,359].
const FUNCTIONS: usize = 100_000;
/// Bytes of one function [426,843].
const FUNCTION_BYTES: usize = 4 << 20;
/// Values of one function that are on its stack at once [54].
const VALUES_AT_ONCE: u32 = 1000;
/// Branches of one function times its locals [188,016].
const BRANCHES_TIMES_LOCALS: u64 = 20_000_000;

/// Why a component is not compiled.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is no valid WebAssembly.
    Invalid(wasmparser::BinaryReaderError),
    /// It would take too long.
    TooLarge(String),
}

impl From<wasmparser::BinaryReaderError> for Fault {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Fault::Invalid(error)
    }
}

/// The names of what a component imports and exports.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

impl Names {
    /// Reads them; what is inside of the component is passed over.
    pub(super) fn of(bytes: &[u8]) -> Result<Names, Fault> {
        let mut names = Names::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        names.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        names.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

/// Validates a component and refuses what would take too long to compile.
pub(super) fn check(bytes: &[u8]) -> Result<(), Fault> {
    // What wasmtime does not know it refuses itself.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut allocations = FuncValidatorAllocations::default();
    let mut functions = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        let ValidPayload::Func(function, body) = validator.payload(&payload?)? else { continue };
        functions += 1;
        if functions > FUNCTIONS {
            return Err(Fault::TooLarge(format!("it has more than {FUNCTIONS} functions")));
        }
        let length = body.range().len();
        if length > FUNCTION_BYTES {
            let most = FUNCTION_BYTES >> 20;
            return Err(Fault::TooLarge(format!(
                "one of its functions has {length} bytes, more than {most} MiB"
            )));
        }
        let mut function = function.into_validator(allocations);
        check_function(&mut function, &body)?;
        allocations = function.into_allocations();
    }
    Ok(())
}

fn check_function(
    validator: &mut wasmparser::FuncValidator<wasmparser::ValidatorResources>,
    body: &FunctionBody,
) -> Result<(), Fault> {
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let locals = u64::from(validator.len_locals());
    let mut branches = 0_u64;
    let mut operators = OperatorsReader::new(reader);
    while !operators.eof() {
        let position = operators.original_position();
        let operator = operators.read()?;
        validator.op(position, &operator)?;
        branches += branches_of(&operator);
        if validator.operand_stack_height() > VALUES_AT_ONCE {
            return Err(Fault::TooLarge(format!(
                "one of its functions has more than {VALUES_AT_ONCE} values on its stack at once"
            )));
        }
        if branches.saturating_mul(locals) > BRANCHES_TIMES_LOCALS {
            return Err(Fault::TooLarge(format!(
                "one of its functions has too many branches over {locals} locals"
            )));
        }
    }
    operators.finish()?;
    Ok(())
}

fn branches_of(operator: &Operator) -> u64 {
    match operator {
        Operator::BrTable { targets } => u64::from(targets.len()) + 1,
        Operator::Br { .. }
        | Operator::BrIf { .. }
        | Operator::If { .. }
        | Operator::Else
        | Operator::Loop { .. }
        | Operator::Block { .. } => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::Probe;
    use super::*;

    /// What is said of a guest whose one function has these instructions.
    fn fault(instructions: &str) -> String {
        match check(&Probe::that(instructions).bytes()) {
            Err(Fault::TooLarge(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_function_whose_values_all_stay_alive_is_not_compiled() {
        let (values, sums) =
            ("(i32.mul (i32.load (i32.const 0)) (i32.load (i32.const 4)))", "i32.add ");
        let live = format!("{} {} drop", values.repeat(50_000), sums.repeat(49_999));
        assert!(fault(&live).contains("1000 values on its stack at once"));
        let some = format!("{} {} drop", values.repeat(900), sums.repeat(899));
        check(&Probe::that(&some).bytes()).unwrap();
    }

    #[test]
    fn a_function_of_many_branches_over_many_locals_is_not_compiled() {
        let locals = format!("(local {})", "i32 ".repeat(1000));
        let branch = "(if (i32.load (i32.const 0)) (then (local.set 7 (i32.const 1))))";
        assert!(fault(&format!("{locals} {}", branch.repeat(30_000))).contains("over 1000 locals"));
        let branch = "(if (i32.load (i32.const 0)) (then (drop (i32.const 1))))";
        check(&Probe::that(&branch.repeat(30_000)).bytes()).unwrap();
    }

    #[test]
    fn half_a_million_functions_are_not_compiled() {
        let text = format!("(component (core module {}))", "(func)".repeat(FUNCTIONS + 1));
        let Err(Fault::TooLarge(reason)) = check(&wat::parse_str(text).unwrap()) else { panic!() };
        assert!(reason.contains("more than 100000 functions"), "{reason}");
    }

    #[test]
    fn only_the_components_own_names_are_read() {
        let names = Names::of(&Probe::that("").bytes()).unwrap();
        assert_eq!(names.exports, ["troupe:plugin/interpreter@0.2.0"]);
        assert!(names.imports.is_empty());
    }
}
