//! What `bindgen!` makes of the interpreter's part of the contract.

#![allow(missing_docs, reason = "generated from wit/, where everything is documented")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "troupe:plugin/interpreter-plugin",
});
