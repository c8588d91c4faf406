//! A guest for tests, written by hand: an interpreter whose `describe` does
//! what the test says.

use std::path::Path;

use super::component::Plugin;
use super::engine::PluginEngine;
use super::error::PluginError;
use super::grants::Grants;
use crate::config::Limits;

/// Parts of the guest that a test may write itself, as WebAssembly text.
#[derive(Clone, Copy)]
pub(crate) struct Probe<'a> {
    /// What the component imports, and `canon lower`s to core functions.
    pub(super) imports: &'a str,
    /// What its core module gets: the `with` clauses of its instantiation.
    pub(super) with: &'a str,
    /// What the core module imports.
    pub(super) core_imports: &'a str,
    /// Instructions in front of `describe`'s own, which return the address of
    /// a sound description: 16.
    pub(super) describe: &'a str,
    /// What `run` executes. Its memory has one page at first.
    pub(super) run: &'a str,
}

impl<'a> Probe<'a> {
    /// A probe that executes these instructions when asked what it is.
    pub(crate) fn that(describe: &'a str) -> Self {
        Probe { imports: "", with: "", core_imports: "", describe, run: "unreachable" }
    }

    /// The same, but it executes these instructions when asked to run a program.
    pub(crate) fn running(self, run: &'a str) -> Self {
        Probe { run, ..self }
    }

    /// The component.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let text = TEMPLATE
            .replace("%imports", self.imports)
            .replace("%with", self.with)
            .replace("%core-imports", self.core_imports)
            .replace("%describe", self.describe)
            .replace("%run", self.run);
        wat::parse_str(&text).unwrap()
    }

    /// The component, loaded.
    pub(super) fn load(&self, limits: &Limits) -> Result<Plugin, PluginError> {
        load(&self.bytes(), limits)
    }
}

/// Loads a component, or what is none, from a file of its own.
pub(super) fn load(bytes: &[u8], limits: &Limits) -> Result<Plugin, PluginError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.wasm");
    std::fs::write(&file, bytes).unwrap();
    Plugin::load(&PluginEngine::new().unwrap(), Path::new(&file), limits, &Grants::default())
}

const TEMPLATE: &str = r#"(component
  %imports
  (core module $guest
    %core-imports
    (memory (export "memory") 1)
    (data (i32.const 16) "\40\00\00\00\05\00\00\00\50\00\00\00\03\00\00\00\60\00\00\00\00\00\00\00")
    (data (i32.const 64) "probe")
    (data (i32.const 80) "1.0")
    (func $describe (export "describe") (result i32) %describe i32.const 16)
    (func (export "run") (param i32 i32 i32 i32) (result i32) %run)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
  (core instance $guest (instantiate $guest %with))
  (type $description (record (field "language" string) (field "version" string) (field "summary" string)))
  (type $ending (variant (case "exited" s32) (case "failed" (tuple string string)) (case "malformed" string)))
  (func $describe (result $description)
    (canon lift (core func $guest "describe") (memory (core memory $guest "memory")) (realloc (core func $guest "realloc"))))
  (func $run (param "program" (list u8)) (param "arguments" (list string)) (result $ending)
    (canon lift (core func $guest "run") (memory (core memory $guest "memory")) (realloc (core func $guest "realloc"))))
  (component $shape
    (type $d (record (field "language" string) (field "version" string) (field "summary" string)))
    (import "description" (type $description (eq $d)))
    (type $e (variant (case "exited" s32) (case "failed" (tuple string string)) (case "malformed" string)))
    (import "ending" (type $ending (eq $e)))
    (import "describe" (func $describe (result $description)))
    (import "run" (func $run (param "program" (list u8)) (param "arguments" (list string)) (result $ending)))
    (export $dx "description" (type $d))
    (export $ex "ending" (type $e))
    (export "describe" (func $describe) (func (result $dx)))
    (export "run" (func $run) (func (param "program" (list u8)) (param "arguments" (list string)) (result $ex))))
  (instance $interpreter (instantiate $shape
    (with "description" (type $description)) (with "ending" (type $ending))
    (with "describe" (func $describe)) (with "run" (func $run))))
  (export "troupe:plugin/interpreter@0.2.0" (instance $interpreter)))"#;
